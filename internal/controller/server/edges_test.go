package server

import (
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
	"github.com/farrier-dev/farrier/internal/inspection"
)

var busy = &bmc.Error{Kind: bmc.KindServer, Op: "POST", StatusCode: 503, Message: "busy"}

// TestWhoeverBoundAServerItIsMarked: a server that another installation had bound comes in whatever state; when the reference is
// removed by hand, it has to be known that there is something to clean.
func TestWhoeverBoundAServerItIsMarked(t *testing.T) {
	for _, state := range []metalv1.ServerState{
		metalv1.ServerStateReserved, metalv1.ServerStateReleased, metalv1.ServerStateMaintenance, metalv1.ServerStateParked,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				lives[state](t, s)
				s.change(t, func(o *metalv1.Server) { delete(o.Annotations, metalv1.AnnotationClaimedBy) })
				before := s.hw.Resets()
				s.settle(t)
				if server := s.is(t, state); server.Annotations[metalv1.AnnotationClaimedBy] == "" {
					t.Errorf("nobody knows that it is dirty: %v", server.Annotations)
				}
				if got := s.hw.Resets(); !slices.Equal(got, before) {
					t.Errorf("the machine was told %v", got[len(before):])
				}
			})
		})
	}
}

// TestParkingEndsWhatWasOrdered: an order to switch on, which has not come true yet, is not to come true when the server is parked.
func TestParkingEndsWhatWasOrdered(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.claims(t, metalv1.PowerOn)
		before := count(s.hw.Resets(), " On")
		s.hw.Fails(busy)
		s.pass(t, 3*time.Second)
		if s.attempt(t, "ns/c") == nil {
			t.Fatal("nothing was ordered")
		}
		s.operate(t, metalv1.OperationPark)
		s.hw.Fails(nil)
		s.pass(t, 5*time.Minute)
		s.is(t, metalv1.ServerStateParked)
		if got := count(s.hw.Resets(), " On"); got != before {
			t.Errorf("parked, and the machine was told %v", s.hw.Resets())
		}
	})
}

// bootsUnseen has the machine switched on for its discovery while its BMC cannot say so.
func (s *stand) bootsUnseen(t *testing.T) {
	t.Helper()
	for controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, namespace+"/"+host) {
		s.settle(t)
	}
	s.ready(t, namespace+"/"+host)
	for s.attempt(t, namespace+"/"+host).Off == nil {
		s.settle(t)
	}
	s.hw.Fails(busy)
	s.pass(t, 3*time.Second)
	if s.attempt(t, namespace+"/"+host).Started != nil {
		t.Fatal("it was seen on")
	}
}

// TestAFreeServerEndsWhatWasOrdered: a report may be on record, as where a backup was restored, while the BMC cannot say yet that the machine is
// on. Until that is known to be over nobody may have the machine: it would run the probe, and count as started.
func TestAFreeServerEndsWhatWasOrdered(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.bootsUnseen(t)
		s.restores(t)
		for range 2 {
			s.pass(t, time.Second)
			if server := s.is(t, metalv1.ServerStateAvailable); allocator.Free(server) {
				t.Error("said to be claimable, and it may run what it was switched on for")
			}
			s.pass(t, 2*time.Hour) // the order is given up
		}
		s.hw.Fails(nil)
		s.pass(t, 15*time.Minute)
		server := s.is(t, metalv1.ServerStateAvailable)
		if got := s.hw.Resets(); server.Status.PowerState != metalv1.PowerStateOff || !slices.Equal(got, []string{uri + " On", uri + " GracefulShutdown"}) {
			t.Errorf("power %s, the machine was told %v", server.Status.PowerState, got)
		}
	})
}

// restores puts the report of the present attempt on record, past those who take reports.
func (s *stand) restores(t *testing.T) {
	t.Helper()
	reg := inspection.Registration{SystemUUID: uuid, Attempt: s.attempt(t, namespace+"/"+host).ID}
	content, err := inspection.Pack(reg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.API.Create(t.Context(), machinerecord.New(namespace, machinerecord.InspectionName(host), machinerecord.KindInspection, host, reg.Attempt, content)); err != nil {
		t.Fatal(err)
	}
}

// TestAReportBeforePowerOnDoesNotCount: whoever reports while the BMC has not shown the machine on is not the machine, or will ask again.
func TestAReportBeforePowerOnDoesNotCount(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.bootsUnseen(t)
		if err := s.tells(t, both, nil); !errors.Is(err, reportintake.ErrNoAttempt) {
			t.Fatalf("a report from a machine that was not seen on: %v", err)
		}
		s.pass(t, while)
		s.is(t, metalv1.ServerStateDiscovery)
		s.hw.Fails(nil)
		for s.attempt(t, namespace+"/"+host).Started == nil {
			s.pass(t, time.Second)
		}
		s.reports(t)
		s.pass(t, time.Minute)
		s.is(t, metalv1.ServerStateAvailable)
	})
}

// TestACleanupThatFailedIsNotMadeAgainByAccident: somebody writes the server in the very moment, or the manager ends. What failed is
// remembered before what it was done with is removed.
func TestACleanupThatFailedIsNotMadeAgainByAccident(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.released(t, inspection.CleanFull)
		before := s.hw.Resets()
		failing := true
		s.API.Fail = func(verb string, obj runtime.Object) error {
			server, ok := obj.(*metalv1.Server)
			if ok && verb == controllertest.Patch && failing && server.Annotations[annotationNotClean] != "" {
				failing = false
				return conflict(server)
			}
			return nil
		}
		s.mustTell(t, both, good, bad)
		s.pass(t, time.Minute)
		s.is(t, metalv1.ServerStateError)
		if failing {
			t.Error("the taint was not written")
		}
		if got := s.hw.Resets(); !slices.Equal(got, before) {
			t.Errorf("the machine was told %v", got[len(before):])
		}
		if !controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, namespace+"/"+host) {
			t.Error("the boot of the probe is left")
		}
	})
}

// TestARetryWaitsForWhatFailedToBeRemoved: otherwise it would find the record of the boot that failed, and fail by it.
func TestARetryWaitsForWhatFailedToBeRemoved(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.released(t, inspection.CleanFull)
		first := s.attempt(t, namespace+"/"+host).ID
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationRetry)
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, annotationNotClean, "a disk")
			o.Spec.Taints = []metalv1.Taint{{Key: metalv1.TaintNotClean}}
		})
		s.cleaning(t)
		if again := s.attempt(t, namespace+"/"+host).ID; again == first {
			t.Error("the boot is the one that failed")
		}
	})
}

// TestASecondServerOfAMachineIsNotDiscovered: a BMC is deleted, which leaves its claimed Server alone, and made anew under another name.
// The machine that runs for the claim is not switched, whether its BMC tells a UUID or not.
func TestASecondServerOfAMachineIsNotDiscovered(t *testing.T) {
	for _, told := range []string{uuid, ""} {
		t.Run("UUID "+told, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				claim := s.reserved(t)
				s.change(t, func(o *metalv1.Server) { o.Spec.SystemUUID = told })
				system := controllertest.System(uri, told)
				system.PowerState = bmc.PowerOn
				s.hw.Set(system)
				s.rack.Look(address)
				s.settle(t)
				before := s.hw.Resets()
				second := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "c-system-0", Finalizers: []string{metalv1.FinalizerServer}}}
				second.Spec.SystemUUID, second.Spec.SystemURI, second.Spec.BMCRef = told, uri, &metalv1.LocalObjectReference{Name: "b"}
				s.Add(t, second)
				for range 10 {
					s.Step(t, s.Reconciler, second.Name)
					s.pass(t, 2*time.Second)
				}
				controllertest.Says(t, controllertest.Read[metalv1.Server](t, s.API, second.Name).Status.Conditions,
					metalv1.ConditionDiscovered, metav1.ConditionFalse, reasonDuplicate, host)
				if !controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, namespace+"/"+second.Name) {
					t.Error("its discovery was prepared")
				}
				s.is(t, metalv1.ServerStateReserved)
				if got := s.hw.Resets(); !slices.Equal(got, before) {
					t.Errorf("the machine of claim %s was told %v", claim.Name, got[len(before):])
				}
			})
		})
	}
}
