package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim/fault"
	"github.com/farrier-dev/farrier/test/product"
)

// answers waits until the first two lines of `farrier why` say all of that.
func (p *running) answers(t *testing.T, about string, want ...string) string {
	t.Helper()
	var all string
	p.Eventually("why "+about, func(context.Context) error {
		stdout, stderr, code := product.Ask(t, product.Farrier, "why", "--kubeconfig", p.Kubeconfig, "--utc", about)
		lines := strings.SplitAfterN(stdout, "\n", 3)
		if all = stdout; code != 0 || len(lines) < 2 {
			return fmt.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
		for _, words := range want {
			if !strings.Contains(lines[0]+lines[1], words) {
				return fmt.Errorf("the first two lines do not say %q:\n%s", words, stdout)
			}
		}
		return nil
	})
	t.Logf("why %s\n%s", about, all)
	return all
}

// TestWhy: what goes wrong at a rack, and what somebody is told who asks about it.
func TestWhy(t *testing.T) {
	l := newLab(t, 8)
	p := l.up(t, "--bmc-poll-interval", "1s", "--bmc-request-timeout", "2s", "--cleanup", "metadata")
	server := func(i int) string { return l.BMCs()[i].Name + "-system-0" }
	l.inject(t, 7, fault.Spec{Kind: fault.SilentProbe})
	for _, info := range l.BMCs() {
		l.endpoint(p, info)
	}
	for i := range 7 {
		p.serverIs(server(i), metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	}
	all := p.answers(t, server(7), "The probe runs on the machine of Server "+server(7)+", and has not reported.", "Next: Wait ", "what the probe says")
	if !strings.Contains(all, "Missing: the report of the probe") {
		t.Error("the missing step is not named")
	}
	p.answers(t, server(0), "Nothing is wrong with Server "+server(0), "it is Available")

	l.inject(t, 0, fault.Spec{Kind: fault.Unauthorized})
	l.inject(t, 1, fault.Spec{Kind: fault.Hang})
	p.answers(t, server(0), "BMC "+l.BMCs()[0].Name+" at "+l.BMCs()[0].IP.String()+" refuses the user name or the password", "Next: Write the right")
	p.answers(t, server(1), "BMC "+l.BMCs()[1].Name+" at "+l.BMCs()[1].IP.String()+" does not answer", "restart it")
	p.answers(t, l.BMCs()[1].Name, "does not answer") // the BMC itself

	on := func(i int) func(*metalv1.ServerClaim) {
		return func(c *metalv1.ServerClaim) { c.Spec.ServerRef = &metalv1.LocalObjectReference{Name: server(i)} }
	}
	l.claim(p, "picky", func(c *metalv1.ServerClaim) {
		c.Spec.ServerSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "nowhere"}}
	})
	p.answers(t, "default/picky", "No Server matches the selector of ServerClaim default/picky", "spec.serverSelector")

	t.Run("a kernel", func(t *testing.T) {
		l.ignition(p, "panics", "ignition")
		l.inject(t, 6, fault.Spec{Kind: fault.KernelPanic})
		l.claim(p, "panics", on(6))
		all := p.answers(t, "default/panics", "The machine of Server "+server(6)+" has fetched its image, and has not fetched its ignition.", "Next: Wait ", "does the kernel start")
		if !strings.Contains(all, "Missing: the request for the ignition") {
			t.Error("the missing step is not named")
		}
	})
	t.Run("images", func(t *testing.T) { l.imagesFail(t, p, on) })
	t.Run("unknown machines", func(t *testing.T) { l.strangersAsk(t, p) })
	t.Run("a disk", func(t *testing.T) {
		l.ignition(p, "dirty", "ignition")
		l.claim(p, "dirty", on(4))
		p.serverIs(server(4), metalv1.ServerStateReserved, metalv1.PowerStateOn)
		l.inject(t, 4, fault.Spec{Kind: fault.DiskFails, Value: "0"})
		p.deleteClaim("dirty")
		p.answers(t, server(4), "could not be cleaned", "Next: Mend or remove the disk")
	})
}

// imagesFail is about an image without kernel, a machine that finds no boot server, and a registry that is away.
func (l *lab) imagesFail(t *testing.T, p *running, on func(int) func(*metalv1.ServerClaim)) {
	lame := localregistry.SmallImage(7)
	lame.Kernel = nil
	if _, err := l.Registry.Push(t.Context(), "lame", "1", lame); err != nil {
		t.Fatal(err)
	}
	l.ignition(p, "boots", "ignition")
	dhcp := l.BootURL.Swap("http://127.0.0.1:1")
	defer l.BootURL.Store(dhcp)
	l.claim(p, "boots", on(2))
	name := p.bound("boots")
	all := p.answers(t, name, "The machine of Server "+name+" was switched on and has asked for nothing since", "Next: Wait ")
	if !strings.Contains(all, "Missing: the first request of the machine") {
		t.Error("the missing step is not named")
	}
	p.answers(t, "boots", "has asked for nothing since")

	l.claim(p, "lame", on(3), func(c *metalv1.ServerClaim) { c.Spec.Image = l.Registry.Reference("lame", "1") })
	p.answers(t, "lame", "Image "+l.Registry.Reference("lame", "1")+" lacks a layer", "no kernel layer")

	l.Registry.SetAway(true)
	defer l.Registry.SetAway(false)
	l.claim(p, "away", on(5), func(c *metalv1.ServerClaim) { c.Spec.Image = l.Registry.Reference("os", "2") })
	p.answers(t, "away", "The registry of image "+l.Registry.Reference("os", "2")+" does not answer", "Bring the registry back")
}

// strangersAsk is about a machine that nobody knows, and one that two Assignments are for.
func (l *lab) strangersAsk(t *testing.T, p *running) {
	const uuid, mac = "ffffffff-0043-3510-8052-b7c04f4e4d32", "52:54:00:aa:bb:cc"
	p.answers(t, uuid, "No Server is the machine "+uuid+", and it has asked the boot server for nothing")
	got, err := http.Get(p.Boot + "/ipxe?uuid=" + uuid + "&mac=" + mac)
	if err != nil {
		t.Fatal(err)
	}
	_ = got.Body.Close()
	for _, name := range []string{uuid, strings.ToUpper(mac)} {
		all := p.answers(t, name, "and no Server is like it", "Make an Endpoint")
		if !strings.Contains(all, "It asked for /ipxe from 127.0.0.1 1 times") {
			t.Errorf("what it asked for is not said:\n%s", all)
		}
	}
	p.create(&ipxev1.Profile{ObjectMeta: objectMeta("default", "a"), Spec: ipxev1.ProfileSpec{IPXE: "#!ipxe\nexit\n"}})
	p.create(&ipxev1.Profile{ObjectMeta: objectMeta("default", "b"), Spec: ipxev1.ProfileSpec{IPXE: "#!ipxe\nexit\n"}})
	for _, name := range []string{"a", "b"} {
		p.create(&ipxev1.Assignment{ObjectMeta: objectMeta("default", name), Spec: ipxev1.AssignmentSpec{SubjectSelector: map[string]string{"uuid": uuid}, ProfileName: name}})
	}
	p.answers(t, uuid, "Two Assignments select this machine: it gets default/", "(Duplicate)", "farrier explain")

	stdout, stderr, code := product.Ask(t, product.Farrier, "why", "--kubeconfig", p.Kubeconfig, "-o", "json", uuid)
	var answer struct{ Reason, Cause, Standing string }
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil || code != 0 || answer.Reason != "Duplicate" || answer.Standing != "Trouble" {
		t.Errorf("%v, exit code %d, %+v: %s%s", err, code, answer, stdout, stderr)
	}
	if _, stderr, code := product.Ask(t, product.Farrier, "why", "--kubeconfig", p.Kubeconfig, "nobody"); code != 1 || !strings.Contains(stderr, `"nobody"`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
