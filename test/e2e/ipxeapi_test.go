package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// What a machine says of itself over SMBIOS selects what it boots. No Server and no boot configuration is
// there; one machine is assigned before it is switched on, by its serial number, the other while it waits, by its UUID.
func TestAssignments(t *testing.T) {
	l := newLab(t)
	linux := kernelImage(t)
	for _, m := range []struct {
		name   string
		how    firmware
		uuid   string
		by     map[string]string
		assign bool // before it is switched on
	}{
		{"assigned-bios", biosIPXE, "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0011", map[string]string{"serialNumber": "assigned-bios", "arch": "amd64"}, true},
		{"assigned-uefi", uefiIPXE, "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0012", map[string]string{"serialNumber": "assigned-uefi", "platform": "efi"}, true},
		{"waits-bios", biosIPXE, "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0013", map[string]string{"uuid": "6F0C2B1E-6D6A-4B5C-9A55-0A3C7D1E0013"}, false},
		{"waits-uefi", uefiIPXE, "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0014", map[string]string{"uuid": "6F0C2B1E-6D6A-4B5C-9A55-0A3C7D1E0014"}, false},
	} {
		t.Run(m.name, func(t *testing.T) {
			if m.assign || m.how == uefiIPXE {
				inFullRuns(t) // the one that waits is assigned, too
			}
			plan := l.push(m.name, localregistry.Image{Kernel: linux, Initramfs: initramfs(t, m.name)})
			ignition := l.profile(m.name, plan)
			assign := func() { l.assign(m.name, m.by) }
			if m.assign {
				assign()
			}
			told, refused := l.overheard()
			machine := power(t, m.how, identity{m.uuid, m.name}, told+"/boot.ipxe")
			if !m.assign {
				machine.isRefused(refused)
				assign()
			}
			for key, want := range map[string]string{"uuid": m.uuid, "marker": m.name, "ignition": ignition} {
				if got := machine.says(key); got != want {
					t.Errorf("%s: the machine has %q, not %q", key, got, want)
				}
			}
			machine.goesOff()
		})
	}
}

// profile makes a profile that boots a plan, and returns what a machine says when it has read its ignition.
func (l *lab) profile(name string, plan registry.Plan) (answer string) {
	l.t.Helper()
	ignition := fmt.Sprintf(`{"ignition":{"version":"3.4.0"},"passwd":{"users":[{"name":%q}]}}`, name)
	p := &ipxev1.Profile{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: ipxev1.ProfileSpec{
			IPXE: fmt.Sprintf("#!ipxe\nkernel %s initrd=initrd console=ttyS0,115200 ignition.config.url={{ .ignition }}\ninitrd --name initrd %s\nboot\n",
				registry.LayerURL(l.url, plan, *plan.Kernel), registry.LayerURL(l.url, plan, *plan.Initramfs)),
			AdditionalConfig: map[string]string{"ignition": ignition},
		},
	}
	l.create(p)
	l.condition(p, func() []metav1.Condition { return p.Status.Conditions }, ipxev1.ConditionReady)
	return fmt.Sprintf("200 sha256:%x", sha256.Sum256([]byte(ignition)))
}

func (l *lab) assign(name string, by map[string]string) {
	l.t.Helper()
	a := &ipxev1.Assignment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       ipxev1.AssignmentSpec{SubjectSelector: by, ProfileName: name},
	}
	l.create(a)
	l.Eventually(name+" is served", func(ctx context.Context) error {
		if err := l.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
			return err
		}
		if !apimeta.IsStatusConditionTrue(a.Status.Conditions, ipxev1.ConditionProgrammed) {
			return fmt.Errorf("conditions: %+v", a.Status.Conditions)
		}
		return nil
	})
}

// overheard returns another URL of the boot server, as machines reach it, and a channel that hears of every
// request for a script that was answered with 503.
func (l *lab) overheard() (url string, refused <-chan struct{}) {
	l.t.Helper()
	to, err := neturl.Parse(l.local)
	if err != nil {
		l.t.Fatal(err)
	}
	heard := make(chan struct{}, 1)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(answer *http.Response) error {
		if answer.Request.URL.Path == "/ipxe" && answer.StatusCode == http.StatusServiceUnavailable {
			select {
			case heard <- struct{}{}:
			default:
			}
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	l.t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	return "http://10.0.2.2:" + port, heard
}

// isRefused waits until the machine has been told twice to come back: it does come back by itself.
func (m *vm) isRefused(refused <-chan struct{}) {
	m.t.Helper()
	for range 2 {
		select {
		case <-refused:
		case <-m.exited:
			m.t.Fatal("the machine went off without having asked")
		case <-time.After(patience):
			m.t.Fatalf("the machine has not been told to wait within %s", patience)
		}
	}
}
