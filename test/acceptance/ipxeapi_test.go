package acceptance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim"
	testlab "github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/product"
)

// namelessSite is a running product, a rack of machines that ask it for their boot by what they are, and the URLs of an image's parts.
func namelessSite(t *testing.T) (p *running, rack *sim.Rack, kernel, initrd string) {
	t.Helper()
	t.Parallel()
	registry, err := localregistry.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Stop() })
	pushed, err := registry.Push(t.Context(), "os", "1", localregistry.SmallImage(3))
	if err != nil {
		t.Fatal(err)
	}
	p = start(t, filepath.Join(t.TempDir(), "data"), "--allowed-registries", registry.Address(), "--plain-http-registries", registry.Address())
	rack = bareRack(t, func() string { return p.Boot + "/boot.ipxe" })
	layer := func(digest any) string {
		return fmt.Sprintf("%s/image?imageName=%s%%2Fos&layerDigest=%s&version=1", p.Boot, registry.Address(), digest)
	}
	return p, rack, layer(pushed.Kernel), layer(pushed.Initramfs)
}

// Machines that no Server stands for name themselves and boot what they are assigned: one by a default of its
// architecture, one that waits until somebody assigns it something, and that one again by another profile.
func TestMachinesThatNameThemselves(t *testing.T) {
	p, rack, kernel, initrd := namelessSite(t)
	profile := func(name string) {
		p.create(&ipxev1.Profile{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: ipxev1.ProfileSpec{
				IPXE: "#!ipxe\necho " + name + " for {{ .Subject.serial }}\nkernel " + kernel +
					" ignition.config.url={{ .ignition }}\ninitrd " + initrd + "\nboot\n",
				AdditionalConfig: map[string]string{"ignition": ignitionOf(name)},
			},
		})
	}
	profile("by-arch")
	profile("by-uuid")
	p.create(&ipxev1.Assignment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "platform"},
		Spec:       ipxev1.AssignmentSpec{SubjectSelector: map[string]string{"serialNumber": rack.Machine(0).Serial(), "arch": "amd64"}, ProfileName: "by-arch"},
	})
	p.Eventually("the Assignment is in force", func(ctx context.Context) error {
		var a ipxev1.Assignment
		if err := p.Get(ctx, client.ObjectKey{Namespace: "default", Name: "platform"}, &a); err != nil {
			return err
		}
		if !apimeta.IsStatusConditionTrue(a.Status.Conditions, ipxev1.ConditionProgrammed) {
			return fmt.Errorf("%+v", a.Status.Conditions)
		}
		return nil
	})
	networkBoot(t, rack, 0)
	p.booted(rack.Machine(0), 1, "by-arch")

	waiting := rack.Machine(1)
	networkBoot(t, rack, 1)
	p.Eventually("the machine is told to wait", func(context.Context) error {
		refused := 0
		for _, f := range waiting.Record()[0].Fetches {
			if f.Status == http.StatusServiceUnavailable {
				refused++
			}
		}
		if refused < 2 {
			return fmt.Errorf("it was told so %d times", refused)
		}
		return nil
	})
	unknown := func() string {
		stdout, stderr, code := product.Ask(t, product.Farrier, "unknown", "--kubeconfig", p.Kubeconfig)
		if code != 0 {
			t.Fatalf("farrier unknown: exit code %d\n%s", code, stderr)
		}
		return stdout
	}
	if listed := unknown(); !strings.Contains(listed, waiting.UUID()) || strings.Contains(listed, rack.Machine(0).UUID()) {
		t.Errorf("want the machine that waits, and no other one:\n%s", listed)
	}
	p.create(&ipxev1.Assignment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "waiting"},
		Spec:       ipxev1.AssignmentSpec{SubjectSelector: map[string]string{"uuid": waiting.UUID()}, ProfileName: "by-uuid"},
	})
	p.booted(waiting, 1, "by-uuid")
	if listed := unknown(); strings.Contains(listed, waiting.UUID()) {
		t.Errorf("there is something for it now:\n%s", listed)
	}
}

// TestWhoComesLaterTakesNothing: of two Assignments for one machine that are made one after the other, as fast as that goes, the first one serves, whatever
// they are called; the second one is admitted and says that it waits, serves once the first one is gone, and a restart in between changes nothing.
func TestWhoComesLaterTakesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir)
	const rounds = 8
	uuid := func(round int) string { return fmt.Sprintf("5e1f0000-0000-4000-8000-0000000000%02x", round) }
	name := func(what string, round int) string { return fmt.Sprintf("%s-%d", what, round) }
	for _, script := range []string{"first", "later"} {
		p.create(&ipxev1.Profile{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: script}, Spec: ipxev1.ProfileSpec{IPXE: "#!ipxe\necho " + script + "\n"}})
	}
	for round := range rounds {
		for i, what := range []string{"z", "a"} {
			p.create(&ipxev1.Assignment{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name(what, round)},
				Spec:       ipxev1.AssignmentSpec{SubjectSelector: map[string]string{"uuid": uuid(round)}, ProfileName: []string{"first", "later"}[i]},
			})
		}
	}
	serves := func(want string) {
		t.Helper()
		for round := range rounds {
			p.Eventually("the Assignments of a machine say so", func(ctx context.Context) error {
				for what, programmed := range map[string]bool{"z": want == "first", "a": want != "first"} {
					var a ipxev1.Assignment
					if err := p.Get(ctx, client.ObjectKey{Namespace: "default", Name: name(what, round)}, &a); client.IgnoreNotFound(err) != nil {
						return err
					} else if err == nil && apimeta.IsStatusConditionTrue(a.Status.Conditions, ipxev1.ConditionProgrammed) != programmed {
						return fmt.Errorf("%s: %+v", a.Name, a.Status.Conditions)
					}
				}
				response, body, err := ask(ctx, http.MethodGet, p.Boot+"/ipxe?uuid="+uuid(round), nil)
				if err == nil && (response.StatusCode != http.StatusOK || body != "#!ipxe\necho "+want+"\n") {
					err = fmt.Errorf("%s: %q, want %q", response.Status, body, want)
				}
				return err
			})
		}
	}
	serves("first")
	p.Stop()
	p = start(t, dir)
	serves("first")
	for round := range rounds {
		if err := p.Delete(t.Context(), &ipxev1.Assignment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name("z", round)}}); err != nil {
			t.Fatal(err)
		}
	}
	serves("later")
}

func ignitionOf(name string) string {
	return fmt.Sprintf(`{"ignition":{"version":"3.4.0"},"passwd":{"users":[{"name":%q}]}}`, name)
}

// bareRack is a rack that the product knows nothing of.
func bareRack(t *testing.T, bootURL func() string) *sim.Rack {
	t.Helper()
	rack, err := sim.Start(t.Context(), sim.Options{
		Servers: 2, Address: "0.0.0.0:0", Username: "admin", Password: "factory", Seed: 7,
		Network: testlab.Network(),
		Timing:  sim.Timing{POST: 100 * time.Millisecond, Shutdown: 100 * time.Millisecond, OSBoot: 100 * time.Millisecond},
		BootURL: bootURL,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := rack.Stop(ctx); err != nil {
			t.Errorf("stop the rack: %v", err)
		}
	})
	return rack
}

// networkBoot switches a machine on as a person does with its BMC: once from the network.
func networkBoot(t *testing.T, rack *sim.Rack, i int) {
	t.Helper()
	bmc := rack.BMCs()[i]
	base := fmt.Sprintf("http://%s:%d", bmc.IP, bmc.Port)
	ask := func(method, path, body string) []byte {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("admin", "factory")
		req.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		var content bytes.Buffer
		if _, err := content.ReadFrom(answer.Body); err != nil || answer.StatusCode >= 300 {
			t.Fatalf("%s %s: %s %v %s", method, path, answer.Status, err, content.String())
		}
		return content.Bytes()
	}
	var systems struct {
		Members []map[string]string
	}
	if err := json.Unmarshal(ask(http.MethodGet, "/redfish/v1/Systems", ""), &systems); err != nil || len(systems.Members) == 0 {
		t.Fatalf("systems: %v %v", systems, err)
	}
	ask(http.MethodPatch, systems.Members[0]["@odata.id"], `{"Boot":{"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"Pxe","BootSourceOverrideMode":"UEFI"}}`)
	if _, err := rack.Machine(i).Reset("On"); err != nil {
		t.Fatal(err)
	}
}

// booted waits until a machine runs what a profile's ignition says.
func (p *running) booted(m *sim.Machine, boots int, profile string) {
	p.t.Helper()
	p.Eventually(m.UUID()+" boots "+profile, func(context.Context) error {
		records := m.Record()
		if len(records) < boots || records[boots-1].Outcome != sim.OutcomeInstalled {
			return fmt.Errorf("boots: %+v", records)
		}
		return nil
	})
	record := m.Record()[boots-1]
	sum := sha256.Sum256([]byte(ignitionOf(profile)))
	if f, ok := record.Fetched(sim.WhatIgnition); !ok || f.SHA256 != hex.EncodeToString(sum[:]) {
		p.t.Errorf("%s: its ignition is not that of %s: %+v", m.UUID(), profile, f)
	}
	if want := profile + " for " + m.Serial(); len(record.Console) == 0 || record.Console[len(record.Console)-1] != want {
		p.t.Errorf("%s: the console has %q, not %q", m.UUID(), record.Console, want)
	}
}

func (p *running) create(obj client.Object) {
	p.t.Helper()
	if err := p.Create(p.t.Context(), obj); err != nil {
		p.t.Fatal(err)
	}
}
