package acceptance

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	testlab "github.com/farrier-dev/farrier/test/lab"
)

// lab is what stands around the product and outlives it, with what the tests of this package ask of it.
type lab struct{ *testlab.Lab }

func newLab(t *testing.T, servers int, change ...func(*sim.Options)) *lab {
	t.Helper()
	return &lab{testlab.New(t, servers, change...)}
}

func (l *lab) up(t *testing.T, args ...string) *running {
	t.Helper()
	p := &running{Running: l.Up(t, args...), t: t}
	t.Cleanup(func() { p.notSlowed(t) })
	return p
}

// notSlowed fails a test in which an object was throttled: whatever tests ask of the product comes to an end.
func (p *running) notSlowed(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(p.Log()) {
		if strings.Contains(line, "object makes no progress") {
			t.Errorf("an object was slowed: %s", line)
		}
	}
}

func (l *lab) discover(p *running) {
	p.t.Helper()
	l.Discover(p.Running)
}

func (l *lab) endpoint(p *running, info sim.BMCInfo) {
	p.t.Helper()
	l.Endpoint(p.Running, info)
}

func (l *lab) claim(p *running, name string, change ...func(*metalv1.ServerClaim)) *metalv1.ServerClaim {
	p.t.Helper()
	return l.Claim(p.Running, name, change...)
}

func (l *lab) runs(p *running, name string) (*metalv1.ServerClaim, *metalv1.Server, *sim.Machine) {
	p.t.Helper()
	return l.Runs(p.Running, name)
}

func (l *lab) ignition(p *running, name, key string) {
	p.t.Helper()
	l.Ignition(p.Running, name, key)
}

func (l *lab) machine(p *running, server string) *sim.Machine {
	p.t.Helper()
	return l.MachineOf(p.Running, server)
}

func (p *running) boots(m *sim.Machine, want sim.Outcome) sim.BootRecord {
	p.t.Helper()
	return p.Boots(m, want)
}

func (p *running) serverIs(name string, state metalv1.ServerState, power metalv1.PowerState) *metalv1.Server {
	p.t.Helper()
	return p.ServerIs(name, state, power)
}

func (p *running) bound(name string) string {
	p.t.Helper()
	return p.Bound(name)
}

func (p *running) says(obj client.Object, conditions func() []metav1.Condition, kind, reason string) string {
	p.t.Helper()
	return p.Says(obj, conditions, kind, reason)
}
