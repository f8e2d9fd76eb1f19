package acceptance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	testlab "github.com/farrier-dev/farrier/test/lab"
)

// publisher is where images of firmware are published. It counts how often each is fetched.
type publisher struct {
	*httptest.Server
	bios, bmcs atomic.Int32
}

func newPublisher(t *testing.T) *publisher {
	p := &publisher{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bios-2.5.0.bin", "/bios-3.0.0.bin":
			p.bios.Add(1)
		case "/bmc-7.10.30.bin", "/bmc-7.10.50.bin":
			p.bmcs.Add(1)
		default:
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, contentOf(r.URL.Path))
	}))
	t.Cleanup(p.Close)
	return p
}

// contentOf is a megabyte or two.
func contentOf(path string) string { return strings.Repeat(path, 1<<17) }

func (p *publisher) image(name string) metalv1.ImageSpec {
	sum := sha256.Sum256([]byte(contentOf("/" + name)))
	return metalv1.ImageSpec{URI: p.URL + "/" + name + "#sha256=" + hex.EncodeToString(sum[:])}
}

// versionIs waits for the state of an update, and for a word of why.
func (p *running) versionIs(obj client.Object, status *metalv1.VersionStatus, state metalv1.VersionState, word string) {
	p.t.Helper()
	p.Eventually(fmt.Sprintf("%T %s", obj, obj.GetName()), func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		if text := testlab.ConditionsText(status.Conditions); status.State != state || !strings.Contains(text, word) {
			return fmt.Errorf("state %s, want %s with %q: %s", status.State, state, word, text)
		}
		return nil
	})
}

// TestFirmwareFromFarrier: Farrier fetches each image once, for BMCs that have no way to where it is published: one that takes images, and one that
// fetches them. What is not what its digest says is installed nowhere, and no server is asked for.
func TestFirmwareFromFarrier(t *testing.T) {
	l := newLab(t, 2, func(o *sim.Options) { o.Vendors = []sim.Vendor{sim.Dell, sim.Standard} })
	published := newPublisher(t)
	p := l.up(t, "--firmware-address", "127.0.0.1:0")
	l.discover(p)

	other := metalv1.ImageSpec{URI: published.URL + "/bios-2.5.0.bin#sha256=" + strings.Repeat("ab", 32)}
	wrong := &metalv1.BIOSVersion{ObjectMeta: objectMeta("", "wrong")}
	wrong.Spec.ServerRef = &metalv1.LocalObjectReference{Name: l.BMCs()[0].Name + "-system-0"}
	wrong.Spec.VersionTemplate = metalv1.VersionTemplate{Version: "2.5.0", Image: other, ServerMaintenancePolicy: metalv1.ServerMaintenancePolicyEnforced}
	if err := p.Create(t.Context(), wrong); err != nil {
		t.Fatal(err)
	}
	p.versionIs(wrong, &wrong.Status, metalv1.VersionStateFailed, "ImageDigestMismatch")
	if wrong.Spec.ServerMaintenanceRef != nil {
		t.Error("a server was asked for, for an image that is not the right one")
	}
	if err := p.Delete(t.Context(), wrong); err != nil {
		t.Fatal(err)
	}
	p.gone(wrong, wrong.UID)
	published.bios.Store(0)

	var updates []*metalv1.BIOSVersion
	for _, b := range l.BMCs() {
		v := &metalv1.BIOSVersion{ObjectMeta: objectMeta("", b.Name)}
		v.Spec.ServerRef = &metalv1.LocalObjectReference{Name: b.Name + "-system-0"}
		v.Spec.VersionTemplate = metalv1.VersionTemplate{
			Version: "2.5.0", Image: published.image("bios-2.5.0.bin"), ServerMaintenancePolicy: metalv1.ServerMaintenancePolicyEnforced,
		}
		if err := p.Create(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		updates = append(updates, v)
	}
	for _, v := range updates {
		p.versionIs(v, &v.Status, metalv1.VersionStateCompleted, "VersionReached")
		p.serverIs(v.Spec.ServerRef.Name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	}
	if n := published.bios.Load(); n != 1 {
		t.Errorf("the image of the BIOS was fetched %d times", n)
	}

	v := &metalv1.BMCVersion{ObjectMeta: objectMeta("", "bmc")}
	v.Spec.BMCRef = &metalv1.LocalObjectReference{Name: l.BMCs()[1].Name}
	v.Spec.VersionTemplate = metalv1.VersionTemplate{
		Version: "7.10.30", Image: published.image("bmc-7.10.30.bin"), ServerMaintenancePolicy: metalv1.ServerMaintenancePolicyEnforced,
	}
	if err := p.Create(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	p.versionIs(v, &v.Status, metalv1.VersionStateCompleted, "VersionReached")
	if n := published.bmcs.Load(); n != 1 {
		t.Errorf("the image of the BMC was fetched %d times", n)
	}
}
