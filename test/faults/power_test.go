package faults

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/sim"
)

// Faults of power show when the power of a machine is to change. What changes it here is what does in
// the product: a server that nobody knows from inside is booted, and a free one that runs is switched off.

var (
	inSelfTest   = statement{"Server", metalv1.ConditionPoweringOn, metav1.ConditionTrue, "SelfTest", "power-on self test"}
	forcedOff    = statement{"Server", metalv1.ConditionWaitingForPowerOff, metav1.ConditionFalse, "ForcedOff", "did not shut down in time"}
	staysOn      = statement{"Server", metalv1.ConditionWaitingForPowerOff, metav1.ConditionTrue, "CommandFailed", "or its BMC reports a wrong power state"}
	neverReports = statement{"Server", metalv1.ConditionDiscovered, metav1.ConditionFalse, "TimedOut", "did not report"}
)

// record says that the server of BMC i is known from inside.
func (s *stand) record(t *testing.T, i int) {
	t.Helper()
	content, err := inspection.Pack(inspection.Registration{Attempt: "before"})
	if err != nil {
		t.Fatal(err)
	}
	obj := machinerecord.New(s.namespace, machinerecord.InspectionName(s.serverName(i)), machinerecord.KindInspection, s.serverName(i), "before", content)
	if err := s.Create(t.Context(), obj); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// discovered forgets what is known of a server from inside: it is booted.
func discovered(t *testing.T, s *stand, i int) {
	t.Helper()
	name := s.serverName(i)
	obj := machinerecord.New(s.namespace, machinerecord.InspectionName(name), machinerecord.KindInspection, name, "", nil)
	if err := s.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	until(t, "a boot of "+name+" is prepared", func() string {
		var config metalv1.ServerBootConfiguration
		if err := s.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &config); err != nil {
			return err.Error()
		}
		return ""
	})
}

// resolved makes boot configurations ready, in place of the controller that resolves images.
type resolved struct{ client.Client }

func (r resolved) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var config metalv1.ServerBootConfiguration
	if err := r.Get(ctx, request.NamespacedName, &config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := config.DeepCopy()
	config.Status.State, config.Status.ObservedGeneration = metalv1.ServerBootConfigurationStateReady, config.Generation
	return ctrl.Result{}, client.IgnoreNotFound(r.Status().Patch(ctx, &config, client.MergeFrom(before)))
}

// free ends that.
func free(t *testing.T, s *stand, i int) {
	t.Helper()
	s.record(t, i)
	s.says(t, i, statement{"Server", metalv1.ConditionDiscovered, metav1.ConditionTrue, "ReportStored", ""})
	off(t, s, i)
}

// ignored has a server left alone.
func ignored(t *testing.T, s *stand, i int) {
	t.Helper()
	s.operation(t, &metalv1.Server{ObjectMeta: named(s.serverName(i))}, metalv1.OperationIgnore)
}

// bootsFromDisk boots a machine from the network, then from its disk, as one is that has been installed.
func bootsFromDisk(t *testing.T, s *stand, i int) {
	t.Helper()
	o, _ := s.fleet.Observe(s.key(i))
	command := func(kind fleet.CommandKind, boot bmc.BootTarget) {
		t.Helper()
		c := fleet.Command{ID: fmt.Sprintf("disk-%d", newest.Add(1)), System: o.Systems[0].URI, Kind: kind, Force: true, Budget: patience, Boot: bmc.BootOverride{Target: boot}}
		if err := s.fleet.Submit(s.key(i), c); err != nil {
			t.Fatal(err)
		}
		until(t, fmt.Sprintf("%s: %s %s", s.names[i], kind, boot), func() string {
			if is, _ := s.fleet.Command(s.key(i), c.ID); is.State != fleet.Succeeded {
				return fmt.Sprintf("it is %s: %v", is.State, is.Err)
			}
			return ""
		})
	}
	command(fleet.PowerOn, bmc.BootPXE)
	if got := s.Machine(i).BootOverride(); got.Target != sim.BootPXE {
		t.Errorf("%s boots from %s", s.names[i], got.Target)
	}
	command(fleet.PowerOff, bmc.BootNone)
	command(fleet.PowerOn, bmc.BootNone)
	if got := s.Machine(i).BootOverride(); got.Target != sim.BootDisk {
		t.Errorf("%s boots from %s", s.names[i], got.Target)
	}
	command(fleet.PowerOff, bmc.BootNone)
}

// running switches a machine on by hand, while its server is left alone.
func running(t *testing.T, s *stand, i int) {
	t.Helper()
	ignored(t, s, i)
	if _, err := s.Machine(i).Reset("On"); err != nil {
		t.Fatal(err)
	}
	s.observed(t, i, "On")
}

func (s *stand) observed(t *testing.T, i int, power string) {
	t.Helper()
	until(t, s.names[i]+" is seen "+power, func() string {
		o, _ := s.fleet.Observe(s.key(i))
		if len(o.Systems) == 1 && string(o.Systems[0].PowerState) == power {
			return ""
		}
		return "it is not"
	})
}

// released has the server looked after again.
func released(t *testing.T, s *stand, i int) {
	t.Helper()
	s.operation(t, &metalv1.Server{ObjectMeta: named(s.serverName(i))}, "")
}

// releasedWhenSeen does so once the BMC was asked, and is bound to what it said.
func releasedWhenSeen(t *testing.T, s *stand, i int) {
	t.Helper()
	from := s.polls[i].Load()
	until(t, s.names[i]+" is polled", func() string {
		if s.polls[i].Load() < from+2 {
			return "it is not"
		}
		return ""
	})
	released(t, s, i)
}

// off waits until a server is seen to be off.
func off(t *testing.T, s *stand, i int) {
	t.Helper()
	until(t, s.serverName(i)+" is off", func() string {
		var server metalv1.Server
		if err := s.Get(t.Context(), client.ObjectKey{Name: s.serverName(i)}, &server); err != nil {
			return err.Error()
		}
		if server.Status.PowerState != metalv1.PowerStateOff {
			return "it is " + string(server.Status.PowerState)
		}
		return ""
	})
}

// operation asks for one; empty: takes the request back.
func (s *stand) operation(t *testing.T, obj client.Object, operation string) {
	t.Helper()
	s.annotate(t.Context(), t, obj, metalv1.AnnotationOperation, operation)
}

func (s *stand) annotate(ctx context.Context, t *testing.T, obj client.Object, key, value string) {
	t.Helper()
	patch := `{"metadata":{"annotations":{"` + key + `":"` + value + `"}}}`
	if value == "" {
		patch = `{"metadata":{"annotations":{"` + key + `":null}}}`
	}
	if err := s.Patch(ctx, obj, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}
