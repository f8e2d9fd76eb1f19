package system

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestRunsUntilStop: a part that answers does not end with the turn, but with the system; its failure afterwards ends that.
func TestRunsUntilStop(t *testing.T) {
	running, stop := context.WithCancel(t.Context())
	turn, lose := context.WithCancel(t.Context())
	s := &System{failed: make(chan error, 1)}
	begun, fail := make(chan struct{}), make(chan error)
	part := s.untilStop(running, "part", func(ctx context.Context) error {
		close(begun)
		select {
		case err := <-fail:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	left := make(chan error, 1)
	go func() { left <- part.Start(turn) }()
	<-begun
	lose()
	if err := <-left; err != nil {
		t.Fatalf("the turn ended with %v", err)
	}
	broken := errors.New("broken")
	select {
	case fail <- broken: // it still runs
	case <-time.After(time.Minute):
		t.Fatal("the part ended with the turn")
	}
	if err := <-s.failed; !errors.Is(err, broken) {
		t.Errorf("the system was told %v", err)
	}
	stop()
	s.parts.Wait()
}

func TestAwaitReturn(t *testing.T) {
	resource := schema.GroupResource{Resource: "leases"}
	for name, back := range map[string]error{"found": nil, "not found": apierrors.NewNotFound(resource, "x"), "not ours to read": apierrors.NewForbidden(resource, "x", nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &System{settings: &settings{}}
			asked := 0
			err := s.awaitReturn(t.Context(), func(context.Context) error {
				if asked++; asked == 1 {
					return apierrors.NewServiceUnavailable("away")
				}
				return back
			})
			if !errors.Is(err, errReturned) || asked != 2 {
				t.Errorf("%v after %d questions", err, asked)
			}
		})
	}
}
