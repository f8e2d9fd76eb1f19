package acceptance

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim"
)

// lab is what stands around the product and outlives it: machines and a registry.
type lab struct {
	*sim.Rack
	registry *localregistry.Registry
	bootURL  atomic.Value // string
	prefixes string
	dataDir  string
}

// networks gives every lab of this process addresses of its own.
var networks atomic.Int32

// newLab builds a lab for a test, which runs beside others from here on: what it does most of the time is wait.
func newLab(t *testing.T, servers int) *lab {
	t.Helper()
	t.Parallel()
	l := &lab{dataDir: filepath.Join(t.TempDir(), "data")}
	l.bootURL.Store("")
	var err error
	if l.registry, err = localregistry.Start(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.registry.Stop() })
	for seed, repository := range []string{"probe", "os"} {
		if _, err := l.registry.Push(t.Context(), repository, "1", localregistry.SmallImage(uint64(seed+1))); err != nil {
			t.Fatal(err)
		}
	}
	l.Rack, err = sim.Start(t.Context(), sim.Options{
		Servers: servers, Address: "0.0.0.0:0", Username: "admin", Password: "factory", Seed: 1,
		Network: netip.PrefixFrom(netip.AddrFrom4([4]byte{127, byte(100 + networks.Add(1)), 0, 0}), 16),
		Timing:  sim.Timing{POST: 100 * time.Millisecond, Shutdown: 100 * time.Millisecond, OSBoot: 100 * time.Millisecond},
		BootURL: func() string { return l.bootURL.Load().(string) + "/ipxe/" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := l.Stop(ctx); err != nil {
			t.Errorf("stop the rack: %v", err)
		}
	})
	l.prefixes = filepath.Join(t.TempDir(), "macs.yaml")
	text := fmt.Sprintf("macPrefixes:\n- macPrefix: %q\n  manufacturer: Simulated\n  protocol: Redfish\n  protocolScheme: http\n  port: %d\n  defaultCredentials:\n  - username: admin\n    password: factory\n", sim.MACPrefix, l.Port())
	if err := os.WriteFile(l.prefixes, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// up starts the product in this lab.
func (l *lab) up(t *testing.T, args ...string) *running {
	t.Helper()
	p := start(t, l.dataDir, append([]string{
		"--mac-prefixes-file", l.prefixes, "--probe-os-image", l.registry.Reference("probe", "1"),
		"--allowed-registries", l.registry.Address(), "--plain-http-registries", l.registry.Address(),
	}, args...)...)
	l.bootURL.Store(p.Boot)
	return p
}

// discover creates an Endpoint for every BMC and waits until its Server is free.
func (l *lab) discover(p *running) {
	p.t.Helper()
	for _, info := range l.BMCs() {
		l.endpoint(p, info)
	}
	for _, info := range l.BMCs() {
		p.serverIs(info.Name+"-system-0", metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	}
}

func (l *lab) endpoint(p *running, info sim.BMCInfo) {
	p.t.Helper()
	e := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
	e.Spec.IP, e.Spec.MACAddress = info.IP.String(), info.MAC
	if err := p.Create(p.t.Context(), e); err != nil {
		p.t.Fatal(err)
	}
}

// claim creates a claim of the image "os" and the ignition Secret that it names.
func (l *lab) claim(p *running, name string, change ...func(*metalv1.ServerClaim)) *metalv1.ServerClaim {
	p.t.Helper()
	c := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Spec.Power = metalv1.PowerOn
	c.Spec.Image = l.registry.Reference("os", "1")
	c.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: name}
	for _, f := range change {
		f(c)
	}
	if err := p.Create(p.t.Context(), c); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// runs has a claim, its ignition Secret beside it, and returns it with its server and machine once that runs.
func (l *lab) runs(p *running, name string) (*metalv1.ServerClaim, *metalv1.Server, *sim.Machine) {
	p.t.Helper()
	l.ignition(p, name, "ignition")
	claim := l.claim(p, name)
	server := p.bound(name)
	machine := l.machine(p, server)
	p.boots(machine, sim.OutcomeInstalled)
	return claim, p.serverIs(server, metalv1.ServerStateReserved, metalv1.PowerStateOn), machine
}

func (l *lab) ignition(p *running, name, key string) {
	p.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, StringData: map[string]string{key: `{"ignition":{"version":"3.4.0"}}`}}
	if err := p.Create(p.t.Context(), s); err != nil {
		p.t.Fatal(err)
	}
}

// machine is the simulated machine behind a Server.
func (l *lab) machine(p *running, server string) *sim.Machine {
	p.t.Helper()
	for i, info := range l.BMCs() {
		if info.Name+"-system-0" == server {
			return l.Machine(i)
		}
	}
	p.t.Fatalf("no machine is called %s", server)
	return nil
}

// boots waits until the newest boot of a machine has come to an end of that kind.
func (p *running) boots(m *sim.Machine, want sim.Outcome) sim.BootRecord {
	p.t.Helper()
	var last sim.BootRecord
	p.Eventually("machine boots", func(context.Context) error {
		records := m.Record()
		if len(records) == 0 {
			return errors.New("the machine has never booted")
		}
		if last = records[len(records)-1]; last.Outcome != want {
			return fmt.Errorf("the boot came to %q (%s), want %q", last.Outcome, last.Why, want)
		}
		return nil
	})
	return last
}

func (p *running) serverIs(name string, state metalv1.ServerState, power metalv1.PowerState) *metalv1.Server {
	p.t.Helper()
	var s metalv1.Server
	p.Eventually("server "+name, func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKey{Name: name}, &s); err != nil {
			return err
		}
		if s.Status.State != state || s.Status.PowerState != power {
			return fmt.Errorf("is %s and %s, want %s and %s: %s", s.Status.State, s.Status.PowerState, state, power, conditionsText(s.Status.Conditions))
		}
		return nil
	})
	return &s
}

// bound waits until a claim has a server and returns its name.
func (p *running) bound(name string) string {
	p.t.Helper()
	var c metalv1.ServerClaim
	p.Eventually("claim "+name, func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, &c); err != nil {
			return err
		}
		if c.Status.Phase != metalv1.ServerClaimPhaseBound {
			return fmt.Errorf("is %s: %s", c.Status.Phase, conditionsText(c.Status.Conditions))
		}
		return nil
	})
	return c.Spec.ServerRef.Name
}

// says waits until a condition of an object has that reason, and returns its message.
func (p *running) says(obj client.Object, conditions func() []metav1.Condition, kind, reason string) string {
	p.t.Helper()
	var message string
	p.Eventually(kind+" of "+obj.GetName(), func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		c := apimeta.FindStatusCondition(conditions(), kind)
		if c == nil || c.Reason != reason {
			return fmt.Errorf("want reason %s: %s", reason, conditionsText(conditions()))
		}
		message = c.Message
		return nil
	})
	return message
}

func conditionsText(list []metav1.Condition) string {
	text := ""
	for _, c := range list {
		text += fmt.Sprintf("\n  %s=%s %s %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}
