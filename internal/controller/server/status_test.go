package server

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// lives are the ways into every state.
var lives = map[metalv1.ServerState]func(*testing.T, *stand){
	metalv1.ServerStateInitial: func(t *testing.T, s *stand) {
		s.Policy.ProbeImage = ""
		s.settle(t)
	},
	metalv1.ServerStateDiscovery: func(t *testing.T, s *stand) { s.discovering(t) },
	metalv1.ServerStateAvailable: func(t *testing.T, s *stand) { s.available(t) },
	metalv1.ServerStateReserved:  func(t *testing.T, s *stand) { s.reserved(t) },
	metalv1.ServerStateReleased: func(t *testing.T, s *stand) {
		claim := s.reserved(t)
		s.change(t, func(o *metalv1.Server) { o.Spec.ReclaimPolicy = metalv1.ReclaimPolicyRetain })
		s.ends(t, claim)
		s.pass(t, 20*time.Second)
	},
	metalv1.ServerStateCleanup: func(t *testing.T, s *stand) { s.released(t, inspection.CleanFull) },
	metalv1.ServerStateMaintenance: func(t *testing.T, s *stand) {
		s.reserved(t)
		s.Add(t, maintenanceOf("ns", "m"))
		s.change(t, func(o *metalv1.Server) {
			o.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "ns", Name: "m"}
		})
		s.settle(t)
	},
	metalv1.ServerStateParked: func(t *testing.T, s *stand) {
		s.reserved(t)
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationPark)
		})
		s.pass(t, 20*time.Second)
	},
	metalv1.ServerStateError: func(t *testing.T, s *stand) {
		s.available(t)
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationClaimedBy, "before")
			o.Spec.Taints = []metalv1.Taint{{Key: metalv1.TaintNotClean, Effect: metalv1.TaintEffectNoBind}}
		})
		s.settle(t)
	},
}

// TestStatusIsAReport: in whatever state a server is, its status is wiped and the manager starts anew. It comes
// to the same state and status, and the machine notices nothing.
func TestStatusIsAReport(t *testing.T) {
	for state, into := range lives {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				into(t, s)
				before, resets := s.is(t, state), s.hw.Resets()
				controllertest.ChangeStatus(t, s.API, host, func(o *metalv1.Server) { o.Status = metalv1.ServerStatus{} })
				s.settle(t)
				policy := s.Policy
				s.restart(t)
				s.Policy = policy
				s.settle(t)
				s.pass(t, time.Minute)
				after := s.is(t, state)
				if got := s.hw.Resets(); !slices.Equal(got, resets) {
					t.Errorf("the machine was told %v", got[len(resets):])
				}
				ignoreConditions := func(s metalv1.ServerStatus) metalv1.ServerStatus {
					s.Conditions = nil
					return s
				}
				if diff := cmp.Diff(ignoreConditions(before.Status), ignoreConditions(after.Status)); diff != "" {
					t.Errorf("status (-before +after)\n%s", diff)
				}
			})
		})
	}
}

func TestAStartWithoutABMCThatAnswersTouchesNothing(t *testing.T) {
	for state, into := range lives {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				into(t, s)
				before := s.is(t, state)
				s.hw.Fails(&bmc.Error{Kind: bmc.KindTimeout, Op: "GET", Message: "no answer in time"})
				policy := s.Policy
				s.restart(t)
				s.Policy = policy
				s.settle(t)
				s.pass(t, time.Minute)
				after := s.is(t, state)
				if after.Status.PowerState != before.Status.PowerState || after.Spec.ServerClaimRef != before.Spec.ServerClaimRef && after.Spec.ServerClaimRef == nil {
					t.Errorf("power %s, was %s", after.Status.PowerState, before.Status.PowerState)
				}
				if state != metalv1.ServerStateError {
					s.says(t, metalv1.ConditionReady, metav1.ConditionFalse, "BMCUnreachable", "no answer in time")
				}
			})
		})
	}
}

func TestNothingIsWrittenForNothing(t *testing.T) {
	for state, into := range lives {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				into(t, s)
				s.is(t, state)
				s.ForgetWrites()
				s.pass(t, 4*time.Minute)
				if w := s.Writes(""); len(w) != 0 {
					t.Errorf("polled and looked at, and nothing is new; written: %v", w)
				}
			})
		})
	}
}

var parts = bmc.Inventory{
	MemoryBytes: 512 << 30,
	Processors: []bmc.Processor{{
		ID: "CPU0", Type: "CPU", Architecture: "x86", InstructionSet: "x86-64", Manufacturer: "ACME", Model: "Fast 9", MaxSpeedMHz: 3600, TotalCores: 32, TotalThreads: 64,
	}},
	Storage: []bmc.Storage{{
		Name: "Front", State: "Enabled",
		Drives:  []bmc.Drive{{Name: "Disk 0", MediaType: "SSD", Type: "NVMe", Vendor: "V", Model: "M", State: "Enabled", CapacityBytes: 1000204886016}},
		Volumes: []bmc.Volume{{Name: "V0", RAIDType: "RAID1", Usage: "Data", State: "Enabled", CapacityBytes: 1 << 40}, {Name: "of no size"}},
	}},
	Interfaces: []bmc.Interface{{ID: "NIC.1", Name: "Port 1", MACAddress: "02:00:00:00:00:0a", IPs: []string{"10.0.0.7/24", "nonsense"}}, {ID: "NIC.2"}},
}

func TestTheInventoryBecomesStatusOnce(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.Policy.ProbeImage = ""
		system := controllertest.System(uri, uuid)
		system.SKU, system.BIOSVersion, system.IndicatorLED = "SKU-9", "2.1", "Lit"
		s.hw.Set(system)
		s.hw.Holds(parts)
		s.settle(t)
		s.pass(t, 2*time.Second)
		status := s.is(t, metalv1.ServerStateInitial).Status
		status.Conditions = nil
		quantity := func(text string) *resource.Quantity { q := resource.MustParse(text); return &q }
		want := metalv1.ServerStatus{
			ObservedGeneration: 1, State: metalv1.ServerStateInitial, PowerState: metalv1.PowerStateOff, IndicatorLED: metalv1.IndicatorLEDLit,
			Manufacturer: "ACME", Model: "Box 9", SKU: "SKU-9", SerialNumber: "SN-1", BIOSVersion: "2.1", TotalSystemMemory: quantity("512Gi"),
			Processors: []metalv1.Processor{{
				ID: "CPU0", Type: "CPU", Architecture: "x86", InstructionSet: "x86-64", Manufacturer: "ACME", Model: "Fast 9", MaxSpeedMHz: 3600, TotalCores: 32, TotalThreads: 64,
			}},
			Storages: []metalv1.Storage{{
				Name: "Front", State: "Enabled",
				Drives: []metalv1.StorageDrive{{
					Name: "Disk 0", MediaType: "SSD", Type: "NVMe", Vendor: "V", Model: "M", State: "Enabled", Capacity: quantity("976762584Ki"),
				}},
				Volumes: []metalv1.StorageVolume{{Name: "V0", RAIDType: "RAID1", VolumeUsage: "Data", State: "Enabled", Capacity: quantity("1Ti")}, {Name: "of no size"}},
			}},
			NetworkInterfaces: []metalv1.NetworkInterface{{Name: "NIC.1", MACAddress: "02:00:00:00:00:0a", IPs: []string{"10.0.0.7"}}},
		}
		if diff := cmp.Diff(want, status); diff != "" {
			t.Errorf("status (-want +got)\n%s", diff)
		}
		s.ForgetWrites()
		s.rack.Look(address)
		s.settle(t)
		if w := s.Writes(""); len(w) != 0 {
			t.Errorf("the same inventory again, and written is %v", w)
		}

		// A BMC that cannot show a part this time has not lost it.
		s.hw.Holds(bmc.Inventory{MemoryBytes: 512 << 30, Missing: []string{"Storage", "Processors", "EthernetInterfaces"}})
		s.rack.Look(address)
		s.settle(t)
		if w := s.Writes("Server"); len(w) != 0 {
			t.Errorf("parts that could not be read were forgotten: %v", w)
		}
	})
}

func TestWhatLiesBetweenThePowerStatesIsSaidByConditions(t *testing.T) {
	for name, tc := range map[string]struct {
		before metalv1.PowerState
		power  bmc.PowerState
		state  fleet.CommandState
		want   metalv1.PowerState
	}{
		"ordered":           {metalv1.PowerStateOff, bmc.PowerPoweringOn, fleet.Running, metalv1.PowerStateOff},
		"ordered off":       {metalv1.PowerStateOn, bmc.PowerPoweringOff, fleet.Running, metalv1.PowerStateOn},
		"reached":           {metalv1.PowerStateOff, bmc.PowerOn, fleet.Running, metalv1.PowerStateOn},
		"ordered by nobody": {metalv1.PowerStateOff, bmc.PowerPoweringOn, fleet.Succeeded, metalv1.PowerStatePoweringOn},
		"nothing known":     {"", bmc.PowerPoweringOn, fleet.Running, metalv1.PowerStatePoweringOn},
	} {
		t.Run(name, func(t *testing.T) {
			status := metalv1.ServerStatus{PowerState: tc.before}
			s := &fleet.SystemObservation{System: bmc.System{PowerState: tc.power}, Command: fleet.CommandStatus{ID: "c", State: tc.state}}
			if observed(&status, s); status.PowerState != tc.want {
				t.Errorf("power %s, want %s", status.PowerState, tc.want)
			}
		})
	}
}

func TestTheReportBecomesStatus(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Holds(parts)
		s.available(t)
		want := []metalv1.NetworkInterface{{
			Name: "eno1", MACAddress: "02:00:00:00:00:0a", IPs: []string{"10.1.0.7", "fe80::1"}, CarrierStatus: "up",
			Neighbors: []metalv1.LLDPNeighbor{{MACAddress: "02:00:00:00:00:ff", PortID: "Ethernet4", SystemName: "leaf1"}},
		}}
		if diff := cmp.Diff(want, s.read(t).Status.NetworkInterfaces); diff != "" {
			t.Errorf("network (-want +got)\n%s", diff)
		}
		// What the BMC knows less well does not replace it.
		s.rack.Look(address)
		s.settle(t)
		if diff := cmp.Diff(want, s.read(t).Status.NetworkInterfaces); diff != "" {
			t.Errorf("network after another inventory (-want +got)\n%s", diff)
		}
	})
}

func TestAReportThatCannotBeReadNowIsReadLater(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.discovering(t)
		s.reports(t)
		s.Fail = func(verb string, obj runtime.Object) error {
			if _, whole := obj.(*corev1.ConfigMap); whole && verb == controllertest.Get {
				return errors.New("etcd is slow")
			}
			return nil
		}
		s.rack.Pass(while) // it is said together with the power state
		if _, err := s.Reconcile(t.Context(), reconcile.Request{NamespacedName: controllertest.Key(host)}); err == nil {
			t.Error("nobody tries again")
		}
		s.Fail = nil
		s.pass(t, 10*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
		if n := len(s.read(t).Status.NetworkInterfaces); n != 1 {
			t.Errorf("interfaces in status: %d", n)
		}
	})
}

func TestADamagedReportHoldsNothingUp(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Holds(parts)
		s.discovering(t)
		s.reports(t)
		controllertest.Change(t, s.API, namespace+"/"+host+"-inspection", func(o *corev1.ConfigMap) {
			for key := range o.BinaryData {
				o.BinaryData[key] = []byte("not gzip")
			}
		})
		s.pass(t, 10*time.Second)
		if nics := s.is(t, metalv1.ServerStateAvailable).Status.NetworkInterfaces; len(nics) != 1 || nics[0].Name != "NIC.1" {
			t.Errorf("what the BMC knows was lost: %v", nics)
		}
	})
}

func TestAServerIsAdopted(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.settle(t)
		s.change(t, func(o *metalv1.Server) {
			o.Finalizers = nil
			o.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: metalv1.GroupVersion.String(), Kind: "BMC", Name: "b", UID: "b"},
				{APIVersion: "example.org/v1", Kind: "Rack", Name: "r", UID: "r"},
			}
		})
		s.settle(t)
		server := s.read(t)
		if !slices.Equal(server.Finalizers, []string{metalv1.FinalizerServer}) {
			t.Errorf("finalizers %v", server.Finalizers)
		}
		if len(server.OwnerReferences) != 1 || server.OwnerReferences[0].Kind != "Rack" {
			t.Errorf("owners %v", server.OwnerReferences)
		}
	})
}

func TestReadySaysWhatIsWrongWithTheBMC(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil  func(*testing.T, *stand)
		status metav1.ConditionStatus
		reason string
	}{
		"it does not answer": {func(_ *testing.T, s *stand) {
			s.hw.Fails(&bmc.Error{Kind: bmc.KindConnection, Op: "GET", Message: "connection refused"})
		}, metav1.ConditionFalse, "BMCUnreachable"},
		"it refuses the password": {func(_ *testing.T, s *stand) {
			s.hw.Fails(&bmc.Error{Kind: bmc.KindAuthentication, Op: "GET", Message: "unauthorized"})
		}, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed},
		"it shows no such system": {func(_ *testing.T, s *stand) {
			s.hw.Set(controllertest.System("/redfish/v1/Systems/2", "4c4c4544-0043-3510-8052-b7c04f4e4d33"))
		}, metav1.ConditionFalse, "SystemNotFound"},
		"it is gone": {func(t *testing.T, s *stand) {
			b := controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Finalizers = nil })
			s.Remove(t, b)
		}, metav1.ConditionFalse, "BMCNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.available(t)
				tc.spoil(t, s)
				s.rack.Look(address)
				for range 3 {
					s.Step(t, s.Reconciler, host)
				}
				s.says(t, metalv1.ConditionReady, tc.status, tc.reason)
				if state := s.read(t).Status.State; state != metalv1.ServerStateAvailable {
					t.Errorf("state %s", state)
				}
			})
		})
	}
}

func TestAnUnknownOperationIsRemovedAndSaid(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationOperation, "dance")
		})
		s.settle(t)
		if _, still := s.read(t).Annotations[metalv1.AnnotationOperation]; still || !slices.Contains(s.told, "UnsupportedOperation") {
			t.Errorf("annotations %v, events %v", s.read(t).Annotations, s.told)
		}
	})
}

func TestAnIgnoredServerIsLeftAlone(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationIgnore)
		})
		s.hw.Power(uri, bmc.PowerOn)
		s.rack.Look(address)
		s.ForgetWrites()
		s.pass(t, time.Minute)
		if w := s.Writes(""); len(w) != 0 {
			t.Errorf("written: %v", w)
		}
		if got := count(s.hw.Resets(), " ForceOff"); got != 0 {
			t.Errorf("told %v", s.hw.Resets())
		}
	})
}

// TestTheHealthOfTheBMC is a condition where the BMC says anything about it, and what it says no more is unknown.
func TestTheHealthOfTheBMC(t *testing.T) {
	v := newView(power(bmc.PowerOff))
	for _, tt := range []struct {
		health, reason string
		status         metav1.ConditionStatus
	}{
		{"", "", ""},
		{"Superb", "", ""},
		{"OK", metalv1.ReasonHealthOK, metav1.ConditionTrue},
		{"Warning", metalv1.ReasonHealthWarning, metav1.ConditionFalse},
		{"Critical", metalv1.ReasonHealthCritical, metav1.ConditionFalse},
		{"", metalv1.ReasonHealthNotReported, metav1.ConditionUnknown},
	} {
		v.System.Health = tt.health
		setConditions(v, available, &Plan{})
		got := metav1.Condition{}
		if c := apimeta.FindStatusCondition(v.Server.Status.Conditions, metalv1.ConditionHealthy); c != nil {
			got = *c
		}
		if got.Reason != tt.reason || got.Status != tt.status {
			t.Errorf("health %q: %s %s", tt.health, got.Status, got.Reason)
		}
	}
}
