package server

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

func (s *stand) asks(t *testing.T, operation string) {
	t.Helper()
	s.change(t, func(o *metalv1.Server) {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationOperation, operation)
	})
}

// operations are the annotations that are left of an operation.
func (s *stand) operations(t *testing.T) (asked, started bool) {
	t.Helper()
	o := s.read(t)
	_, asked = o.Annotations[metalv1.AnnotationOperation]
	_, started = o.Annotations[metalv1.AnnotationOperationStarted]
	return asked, started
}

// everyReset offers all reset types.
func everyReset() bmc.System {
	s := controllertest.System(uri, uuid)
	s.ResetTypes = []string{"On", "ForceOn", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "PowerCycle"}
	return s
}

func TestResetsOnRequest(t *testing.T) {
	for operation, reset := range resetTypes {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.hw.Set(everyReset())
				s.available(t)
				before := len(s.hw.Resets())
				s.asks(t, operation)
				s.settle(t)
				s.pass(t, 10*time.Second)
				if got := s.hw.Resets()[before:]; len(got) == 0 && operation != metalv1.OperationForceOffServer || len(got) > 0 && got[0] != uri+" "+string(reset) {
					t.Errorf("resets %v, want %s", got, reset)
				}
				if asked, started := s.operations(t); asked || started || !slices.Contains(s.told, "OperationDone") {
					t.Errorf("asked %v, started %v, events %v", asked, started, s.told)
				}
			})
		})
	}
}

func TestAResetThatTheBMCDoesNotOfferIsSaid(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.asks(t, metalv1.OperationPowerCycleServer) // it has neither that nor what comes near
		s.settle(t)
		s.pass(t, 10*time.Second)
		if asked, started := s.operations(t); asked || started || !slices.Contains(s.told, "OperationFailed") {
			t.Errorf("asked %v, started %v, events %v", asked, started, s.told)
		}
	})
}

func TestAResetIsNotRepeatedAfterARestart(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Set(everyReset())
		s.available(t)
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationOperationStarted, metalv1.OperationHardRestartServer+"@1")
		})
		before := len(s.hw.Resets())
		s.restart(t)
		s.settle(t)
		s.pass(t, 10*time.Second)
		if got := s.hw.Resets()[before:]; len(got) != 0 {
			t.Errorf("resets %v", got)
		}
		if _, started := s.operations(t); started || !slices.Contains(s.told, metalv1.ReasonOperationOutcomeUnknown) {
			t.Errorf("started %v, events %v", started, s.told)
		}
	})
}

// TestAResetIsNotRepeatedByAnotherActor: the BMC is deleted and made anew, or its address changes, before it is read how the reset ended.
func TestAResetIsNotRepeatedByAnotherActor(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Set(everyReset())
		s.reserved(t)
		s.asks(t, metalv1.OperationPowerCycleServer)
		for range 2 { // it is begun, and ordered
			s.Step(t, s.Reconciler, host)
		}
		s.rack.Pass(time.Millisecond)
		s.rack.Fleet.Remove(address)
		s.Step(t, s.bmcs, "b")
		s.rack.Pass(time.Second)
		s.pass(t, 20*time.Second)
		if got := count(s.hw.Resets(), " PowerCycle"); got != 1 {
			t.Errorf("%d times: %v", got, s.hw.Resets())
		}
		if _, started := s.operations(t); started || !slices.Contains(s.told, metalv1.ReasonOperationOutcomeUnknown) {
			t.Errorf("started %v, events %v", started, s.told)
		}
	})
}

func TestAResetOfAParkedServerIsDropped(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Set(everyReset())
		s.available(t)
		s.asks(t, metalv1.OperationPark)
		s.settle(t)
		before := len(s.hw.Resets())
		s.asks(t, metalv1.OperationForceOnServer)
		s.settle(t)
		s.pass(t, 10*time.Second)
		if asked, started := s.operations(t); asked || started || !slices.Contains(s.told, metalv1.ReasonParkedOperationDropped) {
			t.Errorf("asked %v, started %v, events %v", asked, started, s.told)
		}
		if got := s.hw.Resets()[before:]; len(got) != 0 {
			t.Errorf("resets %v", got)
		}
	})
}
