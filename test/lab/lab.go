package lab

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/product"
)

// Lab is what stands around the product and outlives it: machines and a registry.
type Lab struct {
	*sim.Rack
	Registry *localregistry.Registry
	// BootURL, a string, is the boot server that machines ask.
	BootURL atomic.Value
	// DHCP has machines wait for an answer of the DHCP server while a test holds it.
	DHCP sync.RWMutex
	// BootRoots, an *x509.CertPool, are whom machines trust; nil: whom this host trusts.
	BootRoots atomic.Pointer[x509.CertPool]
	// Prefixes is the file of the MAC prefix database, and DataDir that of the product.
	Prefixes, DataDir string
}

// Running is the product under the eyes of one test.
type Running struct {
	*product.Product
	t *testing.T
}

// Start runs the product on a data directory and waits until it is ready.
func Start(t *testing.T, dataDir string, args ...string) *Running {
	t.Helper()
	return &Running{Product: product.Start(t, dataDir, args...), t: t}
}

// Beside is a product that tests share, under the eyes of one of them.
func Beside(t *testing.T, shared *product.Shared) *Running {
	t.Helper()
	return &Running{Product: shared.For(t), t: t}
}

// At is what runs on an API that the product did not start, under the eyes of one test.
func At(t *testing.T, config *rest.Config) *Running {
	t.Helper()
	return &Running{Product: product.At(t, config), t: t}
}

// Launch is Start for those that expect it to fail: the error has what was printed.
func Launch(t *testing.T, dataDir string, args ...string) (*Running, error) {
	t.Helper()
	p, err := product.Launch(t, dataDir, args...)
	return &Running{Product: p, t: t}, err
}

var networks atomic.Int32

// Network is of nobody else in this process.
func Network() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{127, byte(100 + networks.Add(1)), 0, 0}), 16)
}

// New builds a lab for a test, which runs beside others from here on: what it does most of the time is wait.
func New(t *testing.T, servers int, change ...func(*sim.Options)) *Lab {
	t.Helper()
	t.Parallel()
	l := &Lab{DataDir: filepath.Join(t.TempDir(), "data")}
	l.BootURL.Store("")
	var err error
	if l.Registry, err = localregistry.Start(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Registry.Stop() })
	for seed, repository := range []string{"probe", "os"} {
		if _, err := l.Registry.Push(t.Context(), repository, "1", localregistry.SmallImage(uint64(seed+1))); err != nil {
			t.Fatal(err)
		}
	}
	options := sim.Options{
		Servers: servers, Address: "0.0.0.0:0", Username: "admin", Password: "factory", Seed: 1,
		Network:   Network(),
		Timing:    sim.Timing{POST: 100 * time.Millisecond, Shutdown: 100 * time.Millisecond, OSBoot: 100 * time.Millisecond},
		BootURL:   l.answerDHCP,
		BootRoots: l.BootRoots.Load,
	}
	for _, c := range change {
		c(&options)
	}
	if l.Rack, err = sim.Start(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := l.Stop(ctx); err != nil {
			t.Errorf("stop the rack: %v", err)
		}
	})
	l.Prefixes = filepath.Join(t.TempDir(), "macs.yaml")
	text := fmt.Sprintf("macPrefixes:\n- macPrefix: %q\n  manufacturer: Simulated\n  protocol: Redfish\n  protocolScheme: http\n  port: %d\n  defaultCredentials:\n  - username: admin\n    password: factory\n", sim.MACPrefix, l.Port())
	if err := os.WriteFile(l.Prefixes, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// answerDHCP is what the DHCP server tells a machine that boots.
func (l *Lab) answerDHCP() string {
	l.DHCP.RLock()
	defer l.DHCP.RUnlock()
	return l.BootURL.Load().(string) + "/ipxe/"
}

// Up starts the product in this lab.
func (l *Lab) Up(t *testing.T, args ...string) *Running {
	t.Helper()
	p := Start(t, l.DataDir, append([]string{
		"--mac-prefixes-file", l.Prefixes, "--probe-os-image", l.Registry.Reference("probe", "1"),
		"--allowed-registries", l.Registry.Address(), "--plain-http-registries", l.Registry.Address(),
	}, args...)...)
	l.BootURL.Store(p.Boot)
	l.Trust(t, p.BootCA)
	return p
}

// Trust has machines trust the authorities of a file, as if somebody had put them into their firmware; without one they trust whom
// this host does.
func (l *Lab) Trust(t *testing.T, file string) {
	t.Helper()
	if file == "" {
		l.BootRoots.Store(nil)
		return
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(content) {
		t.Fatalf("%s holds no PEM certificate", file)
	}
	l.BootRoots.Store(roots)
}

// Discover creates an Endpoint for every BMC and waits until its Server is free.
func (l *Lab) Discover(p *Running) {
	p.t.Helper()
	for _, info := range l.BMCs() {
		l.Endpoint(p, info)
	}
	l.Discovered(p)
}

// Discovered waits until the Server of every BMC is free.
func (l *Lab) Discovered(p *Running) {
	p.t.Helper()
	for _, info := range l.BMCs() {
		p.ServerIs(info.Name+"-system-0", metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	}
}

// Endpoint creates the Endpoint of a BMC.
func (l *Lab) Endpoint(p *Running, info sim.BMCInfo) {
	p.t.Helper()
	e := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
	e.Spec.IP, e.Spec.MACAddress = info.IP.String(), info.MAC
	if err := p.Create(p.t.Context(), e); err != nil {
		p.t.Fatal(err)
	}
}

// Claim creates a claim of the image "os" and the ignition Secret that it names.
func (l *Lab) Claim(p *Running, name string, change ...func(*metalv1.ServerClaim)) *metalv1.ServerClaim {
	p.t.Helper()
	c := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Spec.Power = metalv1.PowerOn
	c.Spec.Image = l.Registry.Reference("os", "1")
	c.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: name}
	for _, f := range change {
		f(c)
	}
	if err := p.Create(p.t.Context(), c); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// Runs has a claim, its ignition Secret beside it, and returns it with its server and machine once that runs.
func (l *Lab) Runs(p *Running, name string) (*metalv1.ServerClaim, *metalv1.Server, *sim.Machine) {
	p.t.Helper()
	l.Ignition(p, name, "ignition")
	claim := l.Claim(p, name)
	server := p.Bound(name)
	machine := l.MachineOf(p, server)
	p.Boots(machine, sim.OutcomeInstalled)
	return claim, p.ServerIs(server, metalv1.ServerStateReserved, metalv1.PowerStateOn), machine
}

// Ignition creates a Secret with an ignition of no content under a key.
func (l *Lab) Ignition(p *Running, name, key string) {
	p.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, StringData: map[string]string{key: `{"ignition":{"version":"3.4.0"}}`}}
	if err := p.Create(p.t.Context(), s); err != nil {
		p.t.Fatal(err)
	}
}

// MachineOf is the simulated machine behind a Server.
func (l *Lab) MachineOf(p *Running, server string) *sim.Machine {
	p.t.Helper()
	for i, info := range l.BMCs() {
		if info.Name+"-system-0" == server {
			return l.Machine(i)
		}
	}
	p.t.Fatalf("no machine is called %s", server)
	return nil
}

// Boots waits until the newest boot of a machine has come to an end of that kind.
func (p *Running) Boots(m *sim.Machine, want sim.Outcome) sim.BootRecord {
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

// ServerIs waits until a Server is in that state and of that power, and returns it.
func (p *Running) ServerIs(name string, state metalv1.ServerState, power metalv1.PowerState) *metalv1.Server {
	p.t.Helper()
	var s metalv1.Server
	p.Eventually("server "+name, func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKey{Name: name}, &s); err != nil {
			return err
		}
		if s.Status.State != state || s.Status.PowerState != power {
			return fmt.Errorf("is %s and %s, want %s and %s: %s", s.Status.State, s.Status.PowerState, state, power, ConditionsText(s.Status.Conditions))
		}
		return nil
	})
	return &s
}

// Bound waits until a claim has a server and returns its name.
func (p *Running) Bound(name string) string {
	p.t.Helper()
	var c metalv1.ServerClaim
	p.Eventually("claim "+name, func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, &c); err != nil {
			return err
		}
		if c.Status.Phase != metalv1.ServerClaimPhaseBound {
			return fmt.Errorf("is %s: %s", c.Status.Phase, ConditionsText(c.Status.Conditions))
		}
		return nil
	})
	return c.Spec.ServerRef.Name
}

// Says waits until a condition of an object has that reason, and returns its message.
func (p *Running) Says(obj client.Object, conditions func() []metav1.Condition, kind, reason string) string {
	p.t.Helper()
	var message string
	p.Eventually(kind+" of "+obj.GetName(), func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		c := apimeta.FindStatusCondition(conditions(), kind)
		if c == nil || c.Reason != reason {
			return fmt.Errorf("want reason %s: %s", reason, ConditionsText(conditions()))
		}
		message = c.Message
		return nil
	})
	return message
}

// ConditionsText is a list of conditions for people.
func ConditionsText(list []metav1.Condition) string {
	text := ""
	for _, c := range list {
		text += fmt.Sprintf("\n  %s=%s %s %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}
