package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// switchVariable has these tests run.
const switchVariable = "FARRIER_E2E"

func TestMain(m *testing.M) { product.Main(m) }

// lab is the product, a registry, and what machines are given.
type lab struct {
	*product.Product
	t        *testing.T
	registry *localregistry.Registry
	url      string // of the boot server, as machines reach it
	local    string // the same, as this test does
	ca       []byte // what machines verify it with, PEM; nil: it speaks no TLS
	// data is the data directory, and args are what the product was started with beside.
	data string
	args []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	return newLabBehind(t, "")
}

// newLabOverTLS is a lab whose machines reach the boot server over https, and learn no secret otherwise. The DHCP server asks it over
// plain HTTP.
func newLabOverTLS(t *testing.T) *lab {
	t.Helper()
	secure := loopback.Port(t)
	l := newLabBehind(t, "", "--boot-tls-address", "127.0.0.1:"+secure, "--boot-secrets-need-tls", "--boot-url", "https://10.0.2.2:"+secure)
	l.url = "https://10.0.2.2:" + secure
	var err error
	if l.ca, err = os.ReadFile(l.BootCA); err != nil {
		t.Fatal(err)
	}
	return l
}

// newLabBehind is a lab whose machines reach the boot server at another address of this machine's loopback, if there is one.
func newLabBehind(t *testing.T, front string, flags ...string) *lab {
	t.Helper()
	return newLabWith(t, front, func(l *lab) []string {
		if len(flags) == 0 {
			return []string{"--boot-url", l.url}
		}
		return flags
	})
}

// newLabWith is a lab whose product has flags that depend on its registry and its addresses.
func newLabWith(t *testing.T, front string, flags func(*lab) []string) *lab {
	t.Helper()
	l := prepareLab(t)
	port := loopback.Port(t)
	l.url, l.local = "http://10.0.2.2:"+port, "http://127.0.0.1:"+port
	if _, reached, err := net.SplitHostPort(front); err == nil {
		l.url = "http://" + net.JoinHostPort("10.0.2.2", reached)
	}
	l.begin("127.0.0.1:"+port, flags(l))
	return l
}

// prepareLab is a lab whose product is not started yet.
func prepareLab(t *testing.T) *lab {
	t.Helper()
	if os.Getenv(switchVariable) == "" {
		t.Skipf("boots real firmware, which takes minutes: runs where %s is set, as `make e2e` does", switchVariable)
	}
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Fatalf("%v (Debian packages qemu-system-x86, ipxe-qemu)", err)
	}
	registry, err := localregistry.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Stop() })
	return &lab{t: t, registry: registry}
}

// begin starts the product.
func (l *lab) begin(bootAddress string, flags []string) {
	l.t.Helper()
	l.data, l.args = filepath.Join(l.t.TempDir(), "data"), append(flags,
		"--boot-address", bootAddress, "--trusted-forwarders", "127.0.0.0/8",
		"--allowed-registries", l.registry.Address(), "--plain-http-registries", l.registry.Address())
	l.Product = product.Start(l.t, l.data, l.args...)
}

func (l *lab) create(obj client.Object) {
	l.t.Helper()
	if err := l.Create(l.t.Context(), obj); err != nil {
		l.t.Fatal(err)
	}
}

// ignition makes a Secret with an ignition of its own, and returns what a machine says when it has read it.
func (l *lab) ignition(name string) (answer string) {
	l.t.Helper()
	return l.ignitionOf(name, fmt.Sprintf(`{"ignition":{"version":"3.4.0"},"passwd":{"users":[{"name":%q}]}}`, name))
}

// ignitionOf makes it of this document.
func (l *lab) ignitionOf(name, payload string) (answer string) {
	l.t.Helper()
	l.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, StringData: map[string]string{"ignition": payload}})
	return fmt.Sprintf("200 sha256:%x", sha256.Sum256([]byte(payload)))
}

// push puts an image into the registry and returns the plan of booting it.
func (l *lab) push(repository string, content localregistry.Image) registry.Plan {
	l.t.Helper()
	pushed, err := l.registry.Push(l.t.Context(), repository, "1", content)
	if err != nil {
		l.t.Fatal(err)
	}
	return registry.Plan{
		Registry: l.registry.Address(), Repository: repository, Tag: "1", Digest: pushed.Digest,
		Kernel: &registry.Layer{Digest: pushed.Kernel}, Initramfs: &registry.Layer{Digest: pushed.Initramfs}, UKI: &registry.Layer{Digest: pushed.UKI},
	}
}

// ready waits until what a machine is given can be given.
func (l *lab) ready(obj client.Object, conditions func() []metav1.Condition) {
	l.t.Helper()
	l.condition(obj, conditions, "Ready")
}

func (l *lab) condition(obj client.Object, conditions func() []metav1.Condition, kind string) {
	l.t.Helper()
	l.Eventually(obj.GetName()+" "+kind, func(ctx context.Context) error {
		if err := l.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		if c := apimeta.FindStatusCondition(conditions(), kind); c == nil || c.Status != metav1.ConditionTrue {
			return fmt.Errorf("conditions: %+v", conditions())
		}
		return nil
	})
}

// overIPXE has a machine boot kernel and initramfs by an iPXE script.
func (l *lab) overIPXE(name, uuid string, plan registry.Plan) *bootv1.IPXEBootConfig {
	l.t.Helper()
	config := &bootv1.IPXEBootConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: bootv1.IPXEBootConfigSpec{
			SystemUUID: uuid, KernelURL: registry.LayerURL(l.url, plan, *plan.Kernel), InitrdURL: registry.LayerURL(l.url, plan, *plan.Initramfs),
			IgnitionSecretRef: &bootv1.LocalObjectReference{Name: name},
		},
	}
	l.create(config)
	l.ready(config, func() []metav1.Condition { return config.Status.Conditions })
	return config
}
