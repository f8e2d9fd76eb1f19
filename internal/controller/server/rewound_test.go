package server

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// years is how far the clock was ahead.
const years = 4 * 365 * 24 * time.Hour

// wasAhead makes what was written of a boot what a clock would have written that was years ahead.
func (s *stand) wasAhead(t *testing.T, name string) {
	t.Helper()
	controllertest.Change(t, s.API, name, func(c *metalv1.ServerBootConfiguration) {
		a := bootattempt.Of(c)
		for _, moment := range []*time.Time{a.First, a.Ordered, a.Off, a.Started} {
			if moment != nil {
				*moment = moment.Add(years)
			}
		}
		c.Annotations[metalv1.AnnotationBootAttempt] = a.String()
	})
}

// TestABootThatWasOrderedInTheFuture: the clock of the manager was wrong and has been set right. Nothing is waited for until then, and
// what runs goes on.
func TestABootThatWasOrderedInTheFuture(t *testing.T) {
	t.Run("a discovery comes to nothing", func(t *testing.T) {
		t.Parallel()
		stands(t, func(t *testing.T, s *stand) {
			s.discovering(t)
			s.wasAhead(t, namespace+"/"+host)
			s.pass(t, 25*time.Minute)
			if a := s.attempt(t, namespace+"/"+host); a.Number != 2 {
				t.Errorf("it is still waited for: %v", a)
			}
		})
	})
	t.Run("a discovery is tried again", func(t *testing.T) {
		t.Parallel()
		stands(t, func(t *testing.T, s *stand) {
			s.Policy.ProbeImage = ""
			s.settle(t)
			s.change(t, func(o *metalv1.Server) {
				metav1.SetMetaDataAnnotation(&o.ObjectMeta, annotationDiscoveryNotBefore, s.API.Clock.Now().Add(years).UTC().Format(time.RFC3339))
			})
			s.Policy.ProbeImage = "registry/probe:1"
			s.pass(t, 10*time.Second)
			s.is(t, metalv1.ServerStateDiscovery)
		})
	})
	t.Run("a claim is not booted again, and is when it is off", func(t *testing.T) {
		t.Parallel()
		stands(t, func(t *testing.T, s *stand) {
			s.reserved(t)
			before := s.hw.Resets()
			s.wasAhead(t, "ns/c")
			s.restart(t)
			s.pass(t, 20*time.Second)
			s.is(t, metalv1.ServerStateReserved)
			if got := s.hw.Resets(); !slices.Equal(got, before) {
				t.Errorf("the machine was told %v", got[len(before):])
			}
			s.hw.Power(uri, "Off")
			s.rack.Look(address)
			s.pass(t, time.Minute)
			if server := s.is(t, metalv1.ServerStateReserved); server.Status.PowerState != metalv1.PowerStateOn {
				t.Errorf("power %s", server.Status.PowerState)
			}
		})
	})
	t.Run("a wipe goes on", func(t *testing.T) {
		t.Parallel()
		stands(t, func(t *testing.T, s *stand) {
			s.released(t, inspection.CleanFull)
			s.mustTell(t, both)
			before := s.hw.Resets()
			s.wasAhead(t, namespace+"/"+host)
			s.pass(t, 20*time.Second)
			s.is(t, metalv1.ServerStateCleanup)
			if got := s.hw.Resets(); !slices.Equal(got, before) {
				t.Errorf("the machine was told %v", got[len(before):])
			}
			s.mustTell(t, both, good)
			s.pass(t, 20*time.Second)
			s.is(t, metalv1.ServerStateAvailable)
		})
	})
}
