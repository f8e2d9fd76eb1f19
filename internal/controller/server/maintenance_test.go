package server

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	maintenancecontroller "github.com/farrier-dev/farrier/internal/controller/maintenance"
	"github.com/farrier-dev/farrier/internal/fleet"
)

func maintenanceOf(namespace, name string, change ...func(*metalv1.ServerMaintenance)) *metalv1.ServerMaintenance {
	m := &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	m.Spec.ServerRef.Name, m.Spec.Policy = host, metalv1.ServerMaintenancePolicyEnforced
	for _, c := range change {
		c(m)
	}
	return m
}

func boots(m *metalv1.ServerMaintenance) {
	m.Spec.ServerBootConfigurationTemplate = &metalv1.ServerBootConfigurationTemplate{Name: "tool"}
	m.Spec.ServerBootConfigurationTemplate.Spec.Image = "registry/tool:1"
	m.Spec.ServerBootConfigurationTemplate.Spec.ServerRef.Name = host
}

func wantsPower(p metalv1.Power) func(*metalv1.ServerMaintenance) {
	return func(m *metalv1.ServerMaintenance) { m.Spec.ServerPower = p }
}

// maintained lets time pass with the controller of maintenances at work beside those of the stand.
func (s *stand) maintained(t *testing.T, d time.Duration, names ...string) {
	t.Helper()
	r := &maintenancecontroller.Reconciler{Client: s.API, APIReader: s.API, Recorder: s}
	for ; d > 0; d -= 5 * time.Second {
		for _, name := range names {
			s.Step(t, r, name)
			s.Step(t, r, name)
		}
		s.pass(t, 5*time.Second)
	}
}

// TestMaintenanceOfAClaimedServer is the whole way: the machine of a claim boots something else, and then what its
// claim says again.
func TestMaintenanceOfAClaimedServer(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		first := s.attempt(t, "ns/c").ID
		m := maintenanceOf("ns", "m", boots)
		s.Add(t, m)
		s.maintained(t, 10*time.Second, "ns/m")
		s.ready(t, "ns/tool")
		s.maintained(t, 30*time.Second, "ns/m")
		server := s.is(t, metalv1.ServerStateMaintenance)
		if server.Status.PowerState != metalv1.PowerStateOn || s.attempt(t, "ns/tool").Started == nil {
			t.Fatalf("power %s, attempt %v", server.Status.PowerState, s.attempt(t, "ns/tool"))
		}
		if ref := server.Spec.MaintenanceBootConfigurationRef; ref == nil || ref.Name != "tool" || server.Spec.BootConfigurationRef.Name != "c" {
			t.Errorf("boots %v, its own is %v", ref, server.Spec.BootConfigurationRef)
		}
		s.Remove(t, controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/m"))
		s.maintained(t, 40*time.Second, "ns/m")
		server = s.is(t, metalv1.ServerStateReserved)
		if server.Spec.ServerMaintenanceRef != nil || server.Spec.MaintenanceBootConfigurationRef != nil || server.Spec.ServerClaimRef == nil {
			t.Errorf("after the maintenance: %+v", server.Spec)
		}
		if a := s.attempt(t, "ns/c"); a.ID == first || a.Started == nil || server.Status.PowerState != metalv1.PowerStateOn {
			t.Errorf("the claim's image was not booted again: %v, power %s", a, server.Status.PowerState)
		}
		if !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "ns/m") || !controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, "ns/tool") {
			t.Error("something of the maintenance is left")
		}
	})
}

// TestMaintenanceThatAsksForNothing leaves the machine of a claim alone, before and after.
func TestMaintenanceThatAsksForNothing(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		before := len(s.hw.Resets())
		s.Add(t, maintenanceOf("ns", "m"))
		s.maintained(t, 10*time.Second, "ns/m")
		s.is(t, metalv1.ServerStateMaintenance)
		s.Remove(t, controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/m"))
		s.maintained(t, 10*time.Second, "ns/m")
		s.is(t, metalv1.ServerStateReserved)
		if resets := s.hw.Resets()[before:]; len(resets) != 0 {
			t.Errorf("resets %v", resets)
		}
	})
}

func TestMaintenancePowerAndLight(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		system := controllertest.System(uri, uuid)
		system.IndicatorLED = "Off"
		s.hw.Set(system)
		s.reserved(t)
		s.Add(t, maintenanceOf("ns", "m", wantsPower(metalv1.PowerOff), func(m *metalv1.ServerMaintenance) { m.Spec.LocatorLED = metalv1.IndicatorLEDBlinking }))
		s.maintained(t, 30*time.Second, "ns/m")
		if server := s.is(t, metalv1.ServerStateMaintenance); server.Status.PowerState != metalv1.PowerStateOff || server.Status.IndicatorLED != metalv1.IndicatorLEDBlinking {
			t.Fatalf("power %s, light %s", server.Status.PowerState, server.Status.IndicatorLED)
		}
		s.Remove(t, controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/m"))
		s.maintained(t, 30*time.Second, "ns/m")
		server := s.is(t, metalv1.ServerStateReserved)
		if server.Status.PowerState != metalv1.PowerStateOn || server.Status.IndicatorLED != metalv1.IndicatorLEDOff {
			t.Errorf("power %s, light %s", server.Status.PowerState, server.Status.IndicatorLED)
		}
		if _, left := server.Annotations[metalv1.AnnotationIndicatorBefore]; left {
			t.Error("what the light was is still remembered")
		}
	})
}

// TestAMaintenanceThatIsLostIsEnded: whoever removed its finalizer wanted that.
func TestAMaintenanceThatIsLostIsEnded(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.Add(t, maintenanceOf("ns", "lost"))
		s.maintained(t, 5*time.Second, "ns/lost")
		s.is(t, metalv1.ServerStateMaintenance)
		controllertest.Change(t, s.API, "ns/lost", func(m *metalv1.ServerMaintenance) { m.Finalizers = nil })
		s.Remove(t, controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/lost"))
		s.pass(t, 5*time.Second)
		server := s.is(t, metalv1.ServerStateAvailable)
		if _, left := server.Annotations[metalv1.AnnotationMaintainedBy]; left || server.Spec.ServerMaintenanceRef != nil {
			t.Errorf("still in maintenance: %v, %v", server.Spec.ServerMaintenanceRef, server.Annotations)
		}
	})
}

func TestParkingWaitsForMaintenance(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		s.Add(t, maintenanceOf("ns", "m"))
		s.maintained(t, 10*time.Second, "ns/m")
		s.asks(t, metalv1.OperationPark)
		s.pass(t, 20*time.Second)
		if asked, _ := s.operations(t); !asked || count(s.told, metalv1.ReasonParkDeferred) != 1 {
			t.Errorf("asked %v, events %v", asked, s.told)
		}
		s.Remove(t, controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/m"))
		s.maintained(t, 20*time.Second, "ns/m")
		if server := s.is(t, metalv1.ServerStateParked); server.Status.PowerState != metalv1.PowerStateOff {
			t.Errorf("parked and %s", server.Status.PowerState)
		}
		s.asks(t, metalv1.OperationUnpark)
		s.pass(t, 20*time.Second)
		if server := s.is(t, metalv1.ServerStateReserved); server.Status.PowerState != metalv1.PowerStateOn {
			t.Errorf("unparked and %s", server.Status.PowerState)
		}
	})
}

func TestServerDeletedDuringMaintenance(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.Add(t, maintenanceOf("ns", "m", boots))
		s.maintained(t, 5*time.Second, "ns/m")
		s.Remove(t, s.read(t))
		s.Step(t, s.Reconciler, host)
		r := &maintenancecontroller.Reconciler{Client: s.API, APIReader: s.API, Recorder: s}
		s.Settle(t, r, "ns/m")
		m := controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/m")
		controllertest.Says(t, m.Status.Conditions, metalv1.ConditionInMaintenance, metav1.ConditionFalse, metalv1.ReasonServerNotFound, host)
		s.Remove(t, m)
		s.Settle(t, r, "ns/m")
		if !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "ns/m") {
			t.Error("the maintenance of a server that is no more cannot be deleted")
		}
	})
}

func inMaintenance(change ...func(*metalv1.ServerMaintenance)) func(*View) {
	return func(v *View) {
		v.Maintenance = maintenanceOf("ns", "m", change...)
		v.Maintenance.UID = "m-uid"
		v.Server.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "ns", Name: "m"}
		if v.Maintenance.Spec.ServerBootConfigurationTemplate != nil {
			v.Server.Spec.MaintenanceBootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "tool"}
		}
	}
}

func ending(v *View) {
	inMaintenance()(v)
	v.EndingMaintenance, v.Maintenance = v.Maintenance, nil
}

func TestDecideMaintenance(t *testing.T) {
	started := &bootattempt.Attempt{ID: "a", Number: 1, Ordered: ago(time.Minute), Off: ago(time.Minute), Started: ago(time.Minute)}
	withTool := func(v *View) {
		v.Server.Spec.MaintenanceBootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "tool"}
	}
	booted := func(v *View) { setAnnotation{annotationMaintenanceBoots, "ns/tool"}.apply(v.Server) }
	for name, tc := range map[string]struct {
		view    *View
		command fleet.CommandKind
		force   bool
		ends    bool
	}{
		"nothing asked, on":          {view: newView(power(bmc.PowerOn), inMaintenance())},
		"nothing asked, off":         {view: newView(power(bmc.PowerOff), inMaintenance())},
		"off asked":                  {view: newView(power(bmc.PowerOn), inMaintenance(wantsPower(metalv1.PowerOff))), command: fleet.PowerOff, force: true},
		"off asked and off":          {view: newView(power(bmc.PowerOff), inMaintenance(wantsPower(metalv1.PowerOff)))},
		"on asked":                   {view: newView(power(bmc.PowerOff), inMaintenance(wantsPower(metalv1.PowerOn))), command: fleet.PowerOn},
		"on asked, nothing known":    {view: newView(inMaintenance(wantsPower(metalv1.PowerOn)))},
		"ended, left alone":          {view: newView(claimed(metalv1.PowerOn), power(bmc.PowerOn), ending), ends: true},
		"ended, nothing known":       {view: newView(ending), ends: true},
		"ended, its image runs":      {view: newView(claimed(metalv1.PowerOn), bootWith(started, "Ready"), power(bmc.PowerOn), ending, withTool), command: fleet.PowerOff, force: true},
		"ended, its image ran":       {view: newView(claimed(metalv1.PowerOn), bootWith(started, "Ready"), power(bmc.PowerOff), ending, withTool), ends: true},
		"ended, its image may run":   {view: newView(claimed(metalv1.PowerOn), bootWith(started, "Ready"), ending, withTool)},
		"ended, its image is lost":   {view: newView(claimed(metalv1.PowerOn), power(bmc.PowerOn), ending, withTool, booted), command: fleet.PowerOff, force: true},
		"ended, lost and never ran":  {view: newView(claimed(metalv1.PowerOn), power(bmc.PowerOn), ending, withTool), ends: true},
		"ended, its image never ran": {view: newView(claimed(metalv1.PowerOn), bootWith(nil, "Ready"), power(bmc.PowerOn), ending, withTool), ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := decideMaintenance(tc.view)
			var got fleet.Command
			if p.Command != nil {
				got = *p.Command
			}
			if got.Kind != tc.command || got.Force != tc.force || (len(p.Edits) > 0) != tc.ends {
				t.Errorf("command %q force %v, ends %v", got.Kind, got.Force, len(p.Edits) > 0)
			}
		})
	}
}

// TestAMaintenanceThatNeverBootedLeavesTheMachineAlone: it ends, and what it would have booted is deleted first, as where its namespace
// is. The machine runs what its claim says.
func TestAMaintenanceThatNeverBootedLeavesTheMachineAlone(t *testing.T) {
	for name, boots := range map[string]bool{"not ready": false, "booted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.reserved(t)
				before := s.hw.Resets()
				s.Add(t, maintenanceOf("ns", "m"))
				config := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "tool"}}
				config.Spec.ServerRef.Name, config.Spec.Image = host, "registry/tool:1"
				s.Add(t, config)
				controllertest.Change(t, s.API, "ns/m", func(m *metalv1.ServerMaintenance) { m.Spec.ServerPower = metalv1.PowerOn })
				s.change(t, func(o *metalv1.Server) {
					o.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "ns", Name: "m"}
					o.Spec.MaintenanceBootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "tool"}
				})
				if boots {
					s.ready(t, "ns/tool")
				}
				s.pass(t, 30*time.Second)
				s.Remove(t, controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/tool"))
				s.pass(t, 5*time.Second)
				s.Remove(t, controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/m"))
				s.pass(t, time.Minute)
				server := s.is(t, metalv1.ServerStateReserved)
				if got := s.hw.Resets(); slices.Equal(got, before) == boots {
					t.Errorf("booted %v, and the machine was told %v", boots, got[len(before):])
				}
				if server.Annotations[annotationMaintenanceBoots] != "" || server.Status.PowerState != metalv1.PowerStateOn {
					t.Errorf("afterwards: %v, power %s", server.Annotations, server.Status.PowerState)
				}
			})
		})
	}
}

func TestSettingsOfTheBMC(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		system := controllertest.System(uri, uuid)
		system.IndicatorLED, system.Boot.Order = "Off", []string{"Boot0001", "Boot0002", "Boot0003"}
		s.hw.Set(system)
		s.available(t)
		s.change(t, func(o *metalv1.Server) {
			o.Spec.Power = metalv1.PowerOn // means nothing
			o.Spec.IndicatorLED = metalv1.IndicatorLEDLit
			o.Spec.BootOrder = []metalv1.BootOrder{{Name: "disk", Priority: 2, Device: "Boot0001"}, {Name: "network", Priority: 1, Device: "Boot0003"}}
		})
		s.pass(t, 20*time.Second)
		server := s.is(t, metalv1.ServerStateAvailable)
		if server.Status.IndicatorLED != metalv1.IndicatorLEDLit || server.Spec.Power != "" {
			t.Errorf("light %s, spec.power %q", server.Status.IndicatorLED, server.Spec.Power)
		}
		s.says(t, conditionIndicator, metav1.ConditionTrue, "Applied")
		s.says(t, conditionBootOrder, metav1.ConditionTrue, "Applied", "Boot0003, Boot0001, Boot0002")
		if n := s.hw.Settings(); n != 2 {
			t.Errorf("%d settings were sent, want 2", n)
		}
		s.change(t, func(o *metalv1.Server) { o.Spec.BootOrder[0].Device, o.Spec.IndicatorLED = "Boot0009", "Purple" })
		s.pass(t, 5*time.Second)
		s.says(t, conditionIndicator, metav1.ConditionFalse, "InvalidValue", "Purple")
		s.says(t, conditionBootOrder, metav1.ConditionFalse, "UnknownDevice", "Boot0009", "disk")
		s.change(t, func(o *metalv1.Server) { o.Spec.BootOrder, o.Spec.IndicatorLED = nil, "" })
		s.pass(t, 5*time.Second)
		s.says(t, conditionIndicator, metav1.ConditionFalse, "NotAsked")
		s.says(t, conditionBootOrder, metav1.ConditionFalse, "NotAsked")
	})
}

// TestASettingThatDoesNotShowIsNoStorm: some firmware takes a boot order over with the next boot only.
func TestASettingThatDoesNotShowIsNoStorm(t *testing.T) {
	v := newView(power(bmc.PowerOff), func(v *View) {
		v.System.Boot.Order = []string{"A", "B"}
		v.Server.Spec.BootOrder = []metalv1.BootOrder{{Name: "b", Device: "B"}}
	})
	var ids []string
	for range 3 {
		var p Plan
		v.settings(metalv1.ServerStateAvailable, &p)
		ids = append(ids, p.Settings[0].ID)
		v.Now = v.Now.Add(10 * time.Minute)
	}
	if ids = slices.Compact(ids); len(ids) != 1 {
		t.Errorf("it is sent again: %v", ids)
	}
	var p Plan
	v.settings(metalv1.ServerStateParked, &p)
	if len(p.Settings) != 0 {
		t.Error("a parked server is touched")
	}
}
