package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
)

// busyError names servers that are about to boot.
type busyError struct {
	side    string
	servers []string
}

func (e *busyError) Error() string {
	return fmt.Sprintf("%s: these servers are being booted or cleaned: %s. Wait until they are done, or park them", e.side, strings.Join(e.servers, ", "))
}

// checkIdle refuses to move machines that are about to boot. What they ask for next, they ask the boot server of the source, with tokens that the keys of the
// source are for: it would answer no more, and the target would boot them again.
func (m *mover) checkIdle(ctx context.Context) error {
	s, err := m.read(ctx)
	if err != nil {
		return err
	}
	servers, err := m.booting(s)
	if err != nil || len(servers) == 0 {
		return err
	}
	return &busyError{m.Source.Name, servers}
}

// lookEvery is how often a move that waits looks whether machines still boot.
const lookEvery = 5 * time.Second

// awaitIdle waits until no machine is about to boot, at most until the deadline. It says which it waits for whenever that changes.
func (m *mover) awaitIdle(ctx context.Context, deadline time.Time) error {
	var said []string
	for {
		err := m.checkIdle(ctx)
		var busy *busyError
		if !errors.As(err, &busy) {
			return err
		}
		left := deadline.Sub(m.Now())
		if left <= 0 {
			return err
		}
		if !slices.Equal(said, busy.servers) {
			said = busy.servers
			m.Say("waiting for %s", strings.Join(said, ", "))
		}
		if err := m.Sleep(ctx, min(lookEvery, left)); err != nil {
			return err
		}
	}
}

// bootTime is how long after its power-on a machine may still ask for what it boots with. One that never fetches its ignition does not need it.
const bootTime = 15 * time.Minute

// booting names the servers of a snapshot that are about to boot.
func (m *mover) booting(s *snapshot) (busy []string, err error) {
	for _, o := range s.objects {
		what := ""
		switch o.GroupVersionKind() {
		case metalv1.GroupVersion.WithKind("Server"):
			var server metalv1.Server
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &server)
			if state := server.Status.State; state == metalv1.ServerStateDiscovery || state == metalv1.ServerStateCleanup {
				what = fmt.Sprintf("%s (%s)", server.Name, state)
			}
		case metalv1.GroupVersion.WithKind("ServerBootConfiguration"):
			var config metalv1.ServerBootConfiguration
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &config)
			if m.boots(&config) && !o.ending() {
				what = fmt.Sprintf("%s (boots for %s)", config.Spec.ServerRef.Name, o.id().name)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o, err)
		}
		if what != "" {
			busy = append(busy, what)
		}
	}
	slices.Sort(busy)
	return slices.Compact(busy), nil
}

// boots reports whether a machine has been told to boot and has not fetched all that it boots with. What the probe boots says the state of its server.
func (m *mover) boots(config *metalv1.ServerBootConfiguration) bool {
	a := bootattempt.Of(config)
	if config.Annotations[metalv1.AnnotationType] == metalv1.TypeInternal || !a.Open() {
		return false
	}
	if a.Started == nil {
		return true
	}
	last := []string{bootv1.ConditionKernelFetched, bootv1.ConditionUKIFetched}
	if config.Spec.IgnitionSecretRef != nil {
		last = []string{bootv1.ConditionIgnitionDataFetched}
	}
	fetched := slices.ContainsFunc(last, func(kind string) bool {
		return a.Concerns(config.Status.DeliveryAttempt, apimeta.FindStatusCondition(config.Status.Conditions, kind))
	})
	return !fetched && m.Now().Sub(*a.Started) < bootTime
}
