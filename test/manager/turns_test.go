package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/loopback"
)

const servers = 3

// site is a rack, a registry, and an API with a namespace for the managers.
type site struct {
	*sim.Rack
	client.Client
	t         *testing.T
	api       *testapi.Process
	registry  *localregistry.Registry
	namespace string
	args      []string // what all managers of the site are told
}

func newSite(t *testing.T) *site { return newSiteOf(t, servers) }

// newSiteOf builds a site for a test, which runs beside others from here on: what it does most of the time is wait.
func newSiteOf(t *testing.T, servers int, change ...func(*sim.Options)) *site {
	t.Helper()
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, metalv1.AddToScheme, bootv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	// An API of its own: what a site knows of its rack belongs to no namespace.
	api := testapi.StartWith(t, "--api-address", loopback.Free(t))
	s := &site{t: t, api: api, namespace: "farrier-system"}
	var err error
	if s.Client, err = client.New(api.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	kubeconfig := s.install()
	if s.registry, err = localregistry.Start(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.registry.Stop() })
	for seed, repository := range []string{"probe", "os"} {
		if _, err := s.registry.Push(t.Context(), repository, "1", localregistry.SmallImage(uint64(seed+1))); err != nil {
			t.Fatal(err)
		}
	}
	boot := loopback.Free(t)
	rack := sim.Options{
		Servers: servers, Address: "0.0.0.0:0", Username: "admin", Password: "factory", Seed: 1,
		Network: lab.Network(),
		Timing:  sim.Timing{POST: 100 * time.Millisecond, Shutdown: 100 * time.Millisecond, OSBoot: 100 * time.Millisecond},
		BootURL: func() string { return "http://" + boot + "/ipxe/" },
	}
	for _, f := range change {
		f(&rack)
	}
	if s.Rack, err = sim.Start(t.Context(), rack); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = s.Stop(ctx)
	})
	prefixes := filepath.Join(t.TempDir(), "macs.yaml")
	text := fmt.Sprintf("macPrefixes:\n- macPrefix: %q\n  manufacturer: Simulated\n  protocol: Redfish\n  protocolScheme: http\n  port: %d\n  defaultCredentials:\n  - username: admin\n    password: factory\n", sim.MACPrefix, s.Port())
	if err := os.WriteFile(prefixes, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = []string{
		"--kubeconfig", kubeconfig, "--manager-namespace", s.namespace, "--boot-address", boot,
		"--mac-prefixes-file", prefixes, "--probe-os-image", s.registry.Reference("probe", "1"),
		"--allowed-registries", s.registry.Address(), "--plain-http-registries", s.registry.Address(),
		"--bmc-fast-poll", "100ms", "--bmc-poll-interval", "2s",
	}
	return s
}

func (s *site) create(objects ...client.Object) {
	s.t.Helper()
	for _, object := range objects {
		if err := s.Create(s.t.Context(), object); err != nil {
			s.t.Fatal(err)
		}
	}
}

// serverIs waits for a state of server i.
func (s *site) serverIs(i int, state metalv1.ServerState, power metalv1.PowerState) {
	s.t.Helper()
	name := s.BMCs()[i].Name + "-system-0"
	eventually(s.t, "server "+name, func() error {
		var server metalv1.Server
		if err := s.Get(s.t.Context(), client.ObjectKey{Name: name}, &server); err != nil {
			return err
		}
		if server.Status.State != state || server.Status.PowerState != power {
			return fmt.Errorf("is %s and %s, want %s and %s", server.Status.State, server.Status.PowerState, state, power)
		}
		return nil
	})
}

// discover makes the rack known and waits until all servers are free.
func (s *site) discover() {
	s.t.Helper()
	s.introduce()
	for i := range s.BMCs() {
		s.serverIs(i, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	}
}

// introduce makes the rack known.
func (s *site) introduce() {
	s.t.Helper()
	for _, info := range s.BMCs() {
		endpoint := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
		endpoint.Spec.IP, endpoint.Spec.MACAddress = info.IP.String(), info.MAC
		s.create(endpoint)
	}
}

// endLease is for when its holder was killed and nobody else waits for its turn: the next need not wait until it is over.
func (s *site) endLease() {
	s.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "farrier-manager"}}
	if err := s.Delete(s.t.Context(), lease); client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
}

// claim has one server run, and returns which.
func (s *site) claim(name string) int {
	s.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, StringData: map[string]string{"ignition": `{"ignition":{"version":"3.4.0"}}`}}
	claim := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	claim.Spec.Power, claim.Spec.Image = metalv1.PowerOn, s.registry.Reference("os", "1")
	claim.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: name}
	s.create(secret, claim)
	found := -1
	eventually(s.t, "claim "+name, func() error {
		if err := s.Get(s.t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		for i, info := range s.BMCs() {
			if claim.Spec.ServerRef != nil && claim.Spec.ServerRef.Name == info.Name+"-system-0" {
				found = i
				return nil
			}
		}
		return errors.New("is not bound")
	})
	s.serverIs(found, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	return found
}

// resets counts what was done to the power of each machine.
func (s *site) resets() []map[string]int {
	all := make([]map[string]int, 0, servers)
	for i := range s.BMCs() {
		all = append(all, s.Machine(i).Resets())
	}
	return all
}

func (s *site) logins() (all []int) {
	for i := range s.BMCs() {
		all = append(all, s.Stats(i).Logins)
	}
	return all
}

// holder is the identity of the process whose turn it is.
func (s *site) holder() string {
	s.t.Helper()
	var lease coordinationv1.Lease
	if err := s.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "farrier-manager"}, &lease); err != nil {
		s.t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// TestTurns: one manager brings a rack to Available and runs a claim; a second one stands by, takes over when the
// first is killed, touches no machine's power, and goes on with the work.
func TestTurns(t *testing.T) {
	s := newSite(t)
	first := launch(t, "first", s.args...)
	first.isReady()
	s.discover()
	claimed := s.claim("web")

	logins, holder := s.logins(), s.holder()
	second := launch(t, "second", s.args...)
	second.isReady()
	if got := s.holder(); got != holder {
		t.Fatalf("the lease went from %s to %s while its holder was alive", holder, got)
	}
	for i, want := range logins {
		if got := s.Stats(i).Logins; got != want {
			t.Errorf("BMC %d: %d logins with a second manager, %d before", i, got, want)
		}
	}

	before := s.resets()
	first.Kill()
	for i := range servers {
		eventually(t, fmt.Sprintf("BMC %d is looked after by the second manager", i), func() error {
			if got := s.Stats(i).Logins; got == logins[i] {
				return fmt.Errorf("%d logins, as before", got)
			}
			return nil
		})
	}
	if s.holder() == holder {
		t.Error("somebody logs in at the BMCs without the lease")
	}
	// Released by the second manager: what it does at all, it does after it has decided about every server.
	if err := s.Delete(t.Context(), &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"}}); err != nil {
		t.Fatal(err)
	}
	s.serverIs(claimed, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	for i, want := range before {
		got := s.Machine(i).Resets()
		if i == claimed { // switched off for its release, and on once for its cleanup
			got, want = map[string]int{"On": got["On"]}, map[string]int{"On": want["On"] + 1}
		}
		if !maps.Equal(got, want) {
			t.Errorf("machine %d: resets %v after the first manager was killed, %v before", i, got, want)
		}
		if n := s.Stats(i).MaxConnections; n > 2 {
			// The kernel closes a killed process's connections; the rack may see that late.
			t.Errorf("BMC %d had %d connections at a time", i, n)
		}
	}
	second.stop()
	if got := s.holder(); got != "" {
		t.Errorf("the lease is still held by %s after an orderly end", got)
	}
}

// TestRefused: what is missing is named, and nothing is waited for.
func TestRefused(t *testing.T) {
	t.Parallel()
	bare := testapi.Launch(t, "--data-dir", t.TempDir()).MustBeReady(t)
	boot := loopback.Free(t)
	for _, tc := range []struct {
		name string
		args []string
		want []string
	}{
		{"no API", []string{"--kubeconfig", filepath.Join(t.TempDir(), "none")}, []string{"--kubeconfig"}},
		{"no kinds", []string{"--kubeconfig", bare.Kubeconfig()}, []string{"servers.metal.ironcore.dev", "ipxebootconfigs.boot.ironcore.dev", "--install-crds"}},
		{"no namespace", []string{"--kubeconfig", bare.Kubeconfig(), "--install-crds"}, []string{"--manager-namespace", `"farrier-system"`}},
		{"a port that is not known", []string{"--kubeconfig", bare.Kubeconfig(), "--boot-address", "127.0.0.1:0"}, []string{"--boot-address"}},
		{"an unknown flag", []string{"--sim", "3"}, []string{"--sim", "--help"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := tc.args
			if tc.name != "a port that is not known" {
				args = append([]string{"--boot-address", boot}, args...)
			}
			said := refused(t, args...)
			for _, want := range tc.want {
				if !strings.Contains(said, want) {
					t.Errorf("said %q, which does not name %s", said, want)
				}
			}
		})
	}
}
