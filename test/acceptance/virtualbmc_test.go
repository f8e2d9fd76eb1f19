package acceptance

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// TestAVirtualBMC is such as stand before virtual machines: it wants a password with every request, and its boot override
// lasts and cannot be taken away. A machine is inspected and installed all the same, and starts from its disk afterwards.
func TestAVirtualBMC(t *testing.T) {
	l := newLab(t, 1)
	for _, spec := range []fault.Spec{{Kind: fault.NoSessions, Value: "401"}, {Kind: fault.FewBootTargets}} {
		spec.BMCs = []int{1}
		if _, err := l.InjectFault(spec); err != nil {
			t.Fatal(err)
		}
	}
	p := l.up(t, "--allow-unauthenticated-probe")
	l.discover(p)
	l.ignition(p, "web", "ignition")
	web := l.claim(p, "web", func(c *metalv1.ServerClaim) {
		c.Annotations = map[string]string{metalv1.AnnotationBootPolicy: string(metalv1.BootPolicyOnce)}
	})
	name := p.bound("web")
	machine := l.machine(p, name)
	first := p.boots(machine, sim.OutcomeInstalled)
	if first.Boot.Target != sim.BootPXE {
		t.Errorf("it was installed from %s", first.Boot.Target)
	}
	p.Eventually("the machine tells that it has booted", func(ctx context.Context) error { return p.tellBooted(ctx, machine) })
	p.Eventually("the machine is installed", func(ctx context.Context) error {
		var s metalv1.Server
		if err := p.Get(ctx, client.ObjectKey{Name: name}, &s); err != nil {
			return err
		}
		if s.Annotations[metalv1.AnnotationInstalled] == "" {
			return fmt.Errorf("annotations %v", s.Annotations)
		}
		return nil
	})
	power := func(power metalv1.Power, is metalv1.PowerState) {
		t.Helper()
		before := web.DeepCopy()
		web.Spec.Power = power
		if err := p.Patch(t.Context(), web, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		p.ServerIs(name, metalv1.ServerStateReserved, is)
	}
	power(metalv1.PowerOff, metalv1.PowerStateOff)
	power(metalv1.PowerOn, metalv1.PowerStateOn)
	records := machine.Record()
	if last := records[len(records)-1]; last.Number == first.Number || last.Boot.Target != sim.BootDisk {
		t.Errorf("boot %d, after %d, was from %s", last.Number, first.Number, last.Boot.Target)
	}
	if s := l.Stats(0); s.Logins != 0 || s.BasicLogins == 0 || s.Refused > 1 {
		t.Errorf("the BMC counted %+v", s)
	}
}
