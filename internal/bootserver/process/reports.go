package process

import (
	"context"
	"errors"
	"fmt"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/inspection"
)

var errNoManager = errors.New("no manager is there to store it")

// reports have a manager store what machines say of themselves. Without one a machine is told to come again. It implements bootserver.Reports.
type reports struct{ follower *bootstream.Follower }

// Register implements bootserver.Reports.
func (r reports) Register(ctx context.Context, registration inspection.Registration) error {
	body, err := registration.Encode()
	if err != nil {
		return err
	}
	return r.store(ctx, &streampb.StoreRequest{
		Kind: &streampb.StoreRequest_Registration{Registration: body}, Attempt: registration.Attempt, Contested: registration.Contested,
	})
}

// BootState implements bootserver.Reports.
func (r reports) BootState(ctx context.Context, state inspection.BootState) error {
	body, err := inspection.EncodeBootState(state.SystemUUID, state.Booted)
	if err != nil {
		return err
	}
	return r.store(ctx, &streampb.StoreRequest{Kind: &streampb.StoreRequest_BootState{BootState: body}, Attempt: state.Attempt})
}

func (r reports) store(ctx context.Context, request *streampb.StoreRequest) error {
	manager := r.follower.Connected()
	if manager == nil {
		return errNoManager
	}
	response, err := manager.Store(ctx, request)
	if err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	switch response.GetOutcome() {
	case streampb.StoreResponse_OUTCOME_STORED:
		return nil
	case streampb.StoreResponse_OUTCOME_TOO_LARGE:
		return inspection.ErrTooLarge
	case streampb.StoreResponse_OUTCOME_UNKNOWN_MACHINE:
		return inspection.ErrUnknownMachine
	}
	return fmt.Errorf("manager: outcome %s is not known", response.GetOutcome())
}
