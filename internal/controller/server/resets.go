package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// resetTypes are what the operations that are about power send (DSP0268, Resource.ResetType); the BMC
// client takes the nearest that a BMC allows.
var resetTypes = map[string]bmc.ResetType{
	metalv1.OperationGracefulRestartServer: bmc.ResetGracefulRestart,
	metalv1.OperationHardRestartServer:     bmc.ResetForceRestart,
	metalv1.OperationPowerCycleServer:      bmc.ResetPowerCycle,
	metalv1.OperationForceOffServer:        bmc.ResetForceOff,
	metalv1.OperationForceOnServer:         bmc.ResetForceOn,
}

// begun remembers which resets this process has begun. One that an annotation tells of and that is not
// here was begun by a process that is no more: nobody knows what became of it.
type begun struct {
	mu sync.Mutex
	by map[types.UID]string
}

func (b *begun) set(uid types.UID, started string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.by == nil {
		b.by = map[types.UID]string{}
	}
	if delete(b.by, uid); started != "" {
		b.by[uid] = started
	}
}

func (b *begun) is(uid types.UID, started string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.by[uid] == started
}

// decideReset says what becomes of a request for a reset: it is begun, waits while nothing is known of the
// server, or is dropped on one that is parked.
func decideReset(v *View, operation string) (func(*metalv1.Server), Event) {
	switch {
	case derive(v).state == metalv1.ServerStateParked:
		return func(*metalv1.Server) {}, Event{corev1.EventTypeWarning, metalv1.ReasonParkedOperationDropped, "Operation " + operation + " is dropped: the server is parked"}
	case v.System == nil || v.Unreachable != nil || v.Server.Annotations[metalv1.AnnotationOperationStarted] != "":
		return nil, Event{}
	}
	started := operation + "@" + v.Server.ResourceVersion
	return func(s *metalv1.Server) { annotate(s, metalv1.AnnotationOperationStarted, started) },
		Event{corev1.EventTypeNormal, "OperationStarted", "Operation " + operation + " is carried out on request"}
}

// followReset carries a reset out that was begun, and tells how it ended. It says whether it is under way:
// then nothing else is ordered, which would take its place.
func (r *Reconciler) followReset(ctx context.Context, v *View, key fleet.Key) (underWay bool, _ error) {
	started := v.Server.Annotations[metalv1.AnnotationOperationStarted]
	if started == "" {
		return false, nil
	}
	operation, _, _ := strings.Cut(started, "@")
	reset := resetTypes[operation]
	unknown := Event{corev1.EventTypeWarning, metalv1.ReasonOperationOutcomeUnknown,
		fmt.Sprintf("Operation %.64q was begun; whether it was carried out is not known, and it is not repeated", operation)}
	id := string(v.Server.UID) + "/" + started
	status, submitted := r.Fleet.Command(key, id)
	switch {
	case reset == "", !r.resets.is(v.Server.UID, started), v.System == nil:
		return true, r.endReset(ctx, v, unknown)
	case !submitted && r.submitted.is(v.Server.UID, started): // to an actor that is no more
		return true, r.endReset(ctx, v, unknown)
	case !submitted:
		err := r.Fleet.Submit(key, fleet.Command{ID: id, System: v.System.URI, Kind: fleet.Reset, Reset: reset, Account: account(v.Server)})
		if errors.Is(err, fleet.ErrUnknownBMC) {
			return true, r.endReset(ctx, v, unknown)
		}
		if err == nil {
			r.submitted.set(v.Server.UID, started)
		}
		return true, err
	case !status.State.Ended():
		return true, nil
	case status.State != fleet.Succeeded:
		return true, r.endReset(ctx, v, Event{corev1.EventTypeWarning, "OperationFailed", fmt.Sprintf("Operation %s: %s: %v", operation, status.State, status.Err)})
	}
	message := "Operation " + operation + " is done"
	if status.Sent != "" && status.Sent != reset {
		message += fmt.Sprintf(": the BMC does not offer %s and was told %s", reset, status.Sent)
	}
	return true, r.endReset(ctx, v, Event{corev1.EventTypeNormal, "OperationDone", message})
}

func (r *Reconciler) endReset(ctx context.Context, v *View, event Event) error {
	before := v.Server.DeepCopy()
	delete(v.Server.Annotations, metalv1.AnnotationOperationStarted)
	if err := r.patch(ctx, v.Server, before); err != nil {
		return err
	}
	r.resets.set(v.Server.UID, "")
	r.submitted.set(v.Server.UID, "")
	r.Recorder.Eventf(v.Server, nil, event.Type, event.Reason, event.Reason, "%s", event.Message)
	return nil
}
