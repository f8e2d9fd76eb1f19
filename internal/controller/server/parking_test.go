package server

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// TestParkingFromEveryState: at once where the machine is nobody's, is being looked at, or runs for its claim, and otherwise not before
// that is so. The request stays, is told of once, and is no reason to touch the machine.
func TestParkingFromEveryState(t *testing.T) {
	for state, into := range lives {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				into(t, s)
				s.is(t, state)
				before := s.hw.Resets()
				s.operate(t, metalv1.OperationPark)
				s.pass(t, time.Minute)
				asked, _ := s.operations(t)
				switch state {
				case metalv1.ServerStateInitial, metalv1.ServerStateDiscovery, metalv1.ServerStateAvailable, metalv1.ServerStateReserved, metalv1.ServerStateParked:
					if s.is(t, metalv1.ServerStateParked); asked || slices.Contains(s.told, metalv1.ReasonParkDeferred) {
						t.Errorf("still asked %v, events %v", asked, s.told)
					}
				default:
					s.is(t, state)
					if n := count(s.told, metalv1.ReasonParkDeferred); !asked || n != 1 {
						t.Errorf("still asked %v, told %d times", asked, n)
					}
					if got := s.hw.Resets(); !slices.Equal(got, before) {
						t.Errorf("the machine was told %v", got[len(before):])
					}
				}
			})
		})
	}
}

// TestAWipeIsNotInterruptedByParking: the server is parked when it is clean.
func TestAWipeIsNotInterruptedByParking(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.released(t, inspection.CleanFull)
		s.mustTell(t, both)
		s.pass(t, 5*time.Second)
		before := s.hw.Resets()
		s.operate(t, metalv1.OperationPark)
		s.pass(t, 10*time.Minute)
		s.is(t, metalv1.ServerStateCleanup)
		if got := s.hw.Resets(); !slices.Equal(got, before) {
			t.Errorf("while it wipes the machine was told %v", got[len(before):])
		}
		s.mustTell(t, both, good)
		s.pass(t, 30*time.Second)
		server := s.is(t, metalv1.ServerStateParked)
		if server.Annotations[metalv1.AnnotationClaimedBy] != "" || server.Status.PowerState != metalv1.PowerStateOff {
			t.Errorf("parked, dirty %v, power %s", server.Annotations, server.Status.PowerState)
		}
	})
}

// TestUnparkingLeadsToWhereAServerBelongs: that is derived then, from what has happened meanwhile.
func TestUnparkingLeadsToWhereAServerBelongs(t *testing.T) {
	for name, tc := range map[string]struct {
		claimed   bool
		meanwhile func(*testing.T, *stand, *metalv1.ServerClaim)
		want      metalv1.ServerState
		power     metalv1.PowerState
	}{
		"free":    {false, nil, metalv1.ServerStateAvailable, metalv1.PowerStateOff},
		"claimed": {true, nil, metalv1.ServerStateReserved, metalv1.PowerStateOn},
		"its claim is gone": {true, func(t *testing.T, s *stand, claim *metalv1.ServerClaim) {
			s.ends(t, claim)
		}, metalv1.ServerStateCleanup, metalv1.PowerStateOff},
		"its claim is gone, retained": {true, func(t *testing.T, s *stand, claim *metalv1.ServerClaim) {
			s.change(t, func(o *metalv1.Server) { o.Spec.ReclaimPolicy = metalv1.ReclaimPolicyRetain })
			s.ends(t, claim)
		}, metalv1.ServerStateReleased, metalv1.PowerStateOff},
		"its reference was removed by hand": {true, func(t *testing.T, s *stand, claim *metalv1.ServerClaim) {
			s.change(t, func(o *metalv1.Server) { o.Spec.ServerClaimRef = nil })
			s.ends(t, claim)
		}, metalv1.ServerStateCleanup, metalv1.PowerStateOff},
		"somebody left it on": {false, func(_ *testing.T, s *stand, _ *metalv1.ServerClaim) {
			s.hw.Power(uri, bmc.PowerOn)
			s.rack.Look(address)
		}, metalv1.ServerStateAvailable, metalv1.PowerStateOff},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.cleans(inspection.CleanFull)
				var claim *metalv1.ServerClaim
				if s.available(t); tc.claimed {
					claim = s.claims(t, metalv1.PowerOn)
					s.pass(t, 10*time.Second)
					s.is(t, metalv1.ServerStateReserved)
				}
				s.operate(t, metalv1.OperationPark)
				if since := diagnosis.ParkedSince(s.is(t, metalv1.ServerStateParked)); since.IsZero() {
					t.Error("nothing tells since when it is parked")
				}
				before := s.hw.Resets()
				if tc.meanwhile != nil {
					tc.meanwhile(t, s, claim)
				}
				s.pass(t, time.Minute)
				s.is(t, metalv1.ServerStateParked)
				if got := s.hw.Resets(); !slices.Equal(got, before) {
					t.Errorf("hands off, and it was told %v", got[len(before):])
				}
				s.operate(t, metalv1.OperationUnpark)
				server := s.is(t, tc.want)
				if server.Status.PowerState != tc.power || server.Annotations[metalv1.AnnotationParked] != "" || server.Annotations[metalv1.AnnotationParkedOff] != "" || server.Annotations[metalv1.AnnotationParkedSince] != "" {
					t.Errorf("power %s, annotations %v", server.Status.PowerState, server.Annotations)
				}
			})
		})
	}
}

// TestEveryResetOfAParkedServerIsDropped: whichever it is, its request is taken away and said.
func TestEveryResetOfAParkedServerIsDropped(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Set(everyReset())
		s.available(t)
		s.operate(t, metalv1.OperationPark)
		before, dropped := s.hw.Resets(), 0
		for operation := range resetTypes {
			s.operate(t, operation)
			dropped++
			if asked, started := s.operations(t); asked || started || count(s.told, metalv1.ReasonParkedOperationDropped) != dropped {
				t.Errorf("%s: asked %v, started %v, events %v", operation, asked, started, s.told)
			}
		}
		if got := s.hw.Resets(); !slices.Equal(got, before) {
			t.Errorf("the machine was told %v", got[len(before):])
		}
	})
}

// TestThePowerOfAServerIsNotAskedFor: spec.power is accepted, means nothing, and is cleared.
func TestThePowerOfAServerIsNotAskedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		state metalv1.ServerState
		asks  metalv1.Power
	}{
		"a free server on":   {metalv1.ServerStateAvailable, metalv1.PowerOn},
		"a claimed one off":  {metalv1.ServerStateReserved, metalv1.PowerOff},
		"a parked one on":    {metalv1.ServerStateParked, metalv1.PowerOn},
		"a retained one on":  {metalv1.ServerStateReleased, metalv1.PowerOn},
		"one in Cleanup off": {metalv1.ServerStateCleanup, metalv1.PowerOff},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				lives[tc.state](t, s)
				s.is(t, tc.state)
				before := s.hw.Resets()
				controllertest.Change(t, s.API, host, func(o *metalv1.Server) { o.Spec.Power = tc.asks })
				s.pass(t, time.Minute)
				if server := s.is(t, tc.state); server.Spec.Power != "" {
					t.Errorf("spec.power is still %q", server.Spec.Power)
				}
				if got := s.hw.Resets(); !slices.Equal(got, before) {
					t.Errorf("the machine was told %v", got[len(before):])
				}
			})
		})
	}
}

func TestParkingSwitchesOffGracefullyOnceEachTime(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		for round := range 2 {
			s.operate(t, metalv1.OperationPark)
			if server := s.is(t, metalv1.ServerStateParked); server.Status.PowerState != metalv1.PowerStateOff || server.Annotations[metalv1.AnnotationOperation] != "" {
				t.Fatalf("round %d: power %s, annotations %v", round, server.Status.PowerState, server.Annotations)
			}
			before := s.hw.Resets()
			s.hw.Power(uri, bmc.PowerOn) // somebody works on it
			s.rack.Look(address)
			s.pass(t, time.Minute)
			s.is(t, metalv1.ServerStateParked)
			if got := s.hw.Resets(); !slices.Equal(got, before) {
				t.Errorf("round %d: hands off, and it was told %v", round, got[len(before):])
			}
			s.hw.Power(uri, bmc.PowerOff)
			s.rack.Look(address)
			s.operate(t, metalv1.OperationUnpark)
			if server := s.is(t, metalv1.ServerStateReserved); server.Status.PowerState != metalv1.PowerStateOn {
				t.Errorf("round %d: unparked, and power %s", round, server.Status.PowerState)
			}
		}
	})
}

// TestParkingInDiscovery: the probe is interrupted. Unparked, the server goes back to Discovery, with another boot of the probe; what
// the first one reported in time counts.
func TestParkingInDiscovery(t *testing.T) {
	for name, reported := range map[string]bool{"before the report": false, "the report comes nevertheless": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.discovering(t)
				first := s.attempt(t, namespace+"/"+host).ID
				s.operate(t, metalv1.OperationPark)
				if server := s.is(t, metalv1.ServerStateParked); server.Status.PowerState != metalv1.PowerStateOff || slices.Contains(s.told, metalv1.ReasonParkDeferred) {
					t.Fatalf("power %s, events %v", server.Status.PowerState, s.told)
				}
				if reported {
					s.reports(t)
				}
				s.pass(t, time.Hour) // no deadline of the discovery runs
				s.is(t, metalv1.ServerStateParked)
				s.operate(t, metalv1.OperationUnpark)
				if reported {
					s.is(t, metalv1.ServerStateAvailable)
					if !controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, namespace+"/"+host) {
						t.Error("the boot of the probe is left")
					}
					return
				}
				s.discovering(t)
				if a := s.attempt(t, namespace+"/"+host); a.ID == first || a.Number != 1 || s.read(t).Annotations[annotationDiscoveryFailures] != "" {
					t.Errorf("attempt %+v, annotations %v", a, s.read(t).Annotations)
				}
				s.reports(t)
				s.pass(t, 20*time.Second)
				s.is(t, metalv1.ServerStateAvailable)
			})
		})
	}
}

// TestParkingBeforeDiscovery: the machine is not looked at while it is parked.
func TestParkingBeforeDiscovery(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		image := s.Policy.ProbeImage
		s.Policy.ProbeImage = ""
		s.settle(t)
		s.operate(t, metalv1.OperationPark)
		s.Policy.ProbeImage = image
		s.pass(t, time.Minute)
		s.is(t, metalv1.ServerStateParked)
		s.operate(t, metalv1.OperationUnpark)
		s.discovering(t)
	})
}

// TestAServerWithoutBMC says that it has none, at once and whatever else it is.
func TestAServerWithoutBMC(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		const name = "orphan"
		s.Add(t, &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: metalv1.ServerSpec{SystemUUID: "4c4c4544-0000-0000-0000-000000000001"}})
		for range 3 {
			s.Step(t, s.Reconciler, name)
		}
		read := func() *metalv1.Server { return controllertest.Read[metalv1.Server](t, s.API, name) }
		if state := read().Status.State; state != metalv1.ServerStateInitial {
			t.Errorf("state %q", state)
		}
		controllertest.Says(t, read().Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonNoBMC, "spec.bmcRef", "spec.bmc")
		controllertest.Says(t, read().Status.Conditions, metalv1.ConditionDiscovered, metav1.ConditionFalse, reasonNoBMC)
		for range 4 {
			s.rack.Pass(5 * time.Minute)
			s.Step(t, s.Reconciler, name)
		}
		if n := count(s.told, "LateInInitial"); n != 1 {
			t.Errorf("told %d times that it is late", n)
		}
		controllertest.Change(t, s.API, name, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationPark)
		})
		for range 3 {
			s.Step(t, s.Reconciler, name)
		}
		if state := read().Status.State; state != metalv1.ServerStateParked {
			t.Errorf("parked, and in state %q", state)
		}
		controllertest.Change(t, s.API, name, func(o *metalv1.Server) {
			delete(o.Annotations, metalv1.AnnotationParked)
			o.Spec.BMCRef = &metalv1.LocalObjectReference{Name: "nobody"}
		})
		for range 3 {
			s.Step(t, s.Reconciler, name)
		}
		controllertest.Says(t, read().Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonBMCNotFound)
	})
}
