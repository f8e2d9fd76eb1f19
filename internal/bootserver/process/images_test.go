package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/test/await"
	"github.com/farrier-dev/farrier/test/loopback"
)

// plan is what a manager finds out about an image.
func plan(t *testing.T, local *localregistry.Registry, reference string) registry.Plan {
	t.Helper()
	resolver, err := registry.NewResolver(registry.Options{
		AllowedRegistries: []string{local.Address()}, PlainHTTP: []string{local.Address()}, Clock: clock.RealClock{}, Logger: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- resolver.Run(ctx) }()
	defer func() {
		cancel()
		<-done
	}()
	request := registry.Request{Reference: reference}
	await.True(t, "the plan of the image", func() bool { result, _ := resolver.Lookup(request); return result.Plan.Digest != "" })
	result, _ := resolver.Lookup(request)
	return result.Plan
}

// holds reports whether all layers of an image are verified and on disk.
func (b *running) holds(p registry.Plan) bool {
	for _, layer := range p.Layers() {
		if found, err := filepath.Glob(filepath.Join(b.o.DataDir, "images", "*", strings.TrimPrefix(layer.Digest, "sha256:"))); err != nil || len(found) != 1 {
			return false
		}
	}
	return true
}

// TestAnImageIsFetchedBeforeAMachineAsks: the boot server fetches and verifies what its manager says that machines are going to boot, and
// serves it when neither the manager nor the registry is there.
func TestAnImageIsFetchedBeforeAMachineAsks(t *testing.T) {
	local, err := localregistry.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Stop() })
	image := localregistry.SmallImage(7)
	pushed, err := local.Push(t.Context(), "org/os", "1", image)
	if err != nil {
		t.Fatal(err)
	}
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	o := p.options(m.address)
	o.AllowedRegistries, o.PlainHTTPRegistries = []string{local.Address()}, []string{local.Address()}
	b := startBootServer(t, o)

	found := plan(t, local, pushed.Reference)
	m.pins.pinned("ServerBootConfiguration/default/tenants", registry.Pin{Plan: found, Site: booturl.EverySite, Version: 7})
	const base = "http://boot.example:8082"
	machine := tenants(t, 7)
	machine.Script, err = bootview.DefaultScript(bootview.DefaultScriptParams{
		BootURL: base, KernelURL: registry.LayerURL(base, found, *found.Kernel), InitrdURL: registry.LayerURL(base, found, *found.Initramfs), Attempt: machine.Attempt,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.view.Put(machine)
	await.True(t, "the boot of the machine", func() bool { return b.get("/ipxe/"+uuid).status == http.StatusOK })
	layers := map[string][]byte{}
	for _, layer := range []struct {
		of      *registry.Layer
		content []byte
	}{{found.Kernel, image.Kernel}, {found.Initramfs, image.Initramfs}} {
		layers[strings.TrimPrefix(registry.LayerURL(base, found, *layer.of), base)] = layer.content
	}
	await.True(t, "the layers on disk", func() bool { return b.holds(found) })
	m.stop()
	if err := local.Stop(); err != nil {
		t.Fatal(err)
	}
	for path, content := range layers {
		got := b.get(path)
		sum := sha256.Sum256([]byte(got.body))
		if got.status != http.StatusOK || !bytes.Equal([]byte(got.body), content) {
			t.Errorf("%s: %d, %d bytes, sha256 %s", path, got.status, len(got.body), hex.EncodeToString(sum[:]))
		}
	}
}

// TestAManagerHearsOfAnImageThatCannotBeFetched: with our name and the cause, until we have it. What we serve stays what it is.
func TestAManagerHearsOfAnImageThatCannotBeFetched(t *testing.T) {
	local, err := localregistry.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Stop() })
	pushed, err := local.Push(t.Context(), "org/os", "1", localregistry.SmallImage(7))
	if err != nil {
		t.Fatal(err)
	}
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	o := p.options(m.address)
	o.AllowedRegistries, o.PlainHTTPRegistries = []string{local.Address()}, []string{local.Address()}
	b := startBootServer(t, o)
	m.view.Put(tenants(t, 7))
	await.True(t, "the boot of the machine", b.boots)

	const owner = "ServerBootConfiguration/default/tenants"
	good := plan(t, local, pushed.Reference)
	bad := good
	bad.Digest = "sha256:" + strings.Repeat("b", 64)
	bad.Kernel = &registry.Layer{Digest: "sha256:" + strings.Repeat("a", 64), MediaType: good.Kernel.MediaType, Size: 1}
	m.pins.pinned(owner, registry.Pin{Plan: bad, Site: booturl.EverySite, Version: 7})
	await.Until(t, "what cannot be fetched", func() string {
		got := bootstream.ExplainUnfetched(m.server.Unfetched(records.OfImage(owner)))
		want := "boot-1 cannot fetch the image: not found in registry: " + local.Address() + "/org/os@" + bad.Kernel.Digest
		if got == want {
			return ""
		}
		return got
	})
	if !b.boots() {
		t.Error("the machine does not boot any longer")
	}
	m.pins.pinned(owner, registry.Pin{Plan: good, Site: booturl.EverySite, Version: 8})
	await.True(t, "the image", func() bool { return b.holds(good) && len(m.server.Unfetched(records.OfImage(owner))) == 0 })
}

// TestTheDefaultUKIIsServedFromHere: unknown machines of a site do not have to reach the manager, where that has the image at its own URL.
func TestTheDefaultUKIIsServedFromHere(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	b := startBootServer(t, p.options(m.address))
	uki := registry.Plan{
		Registry: "registry.example", Repository: "org/uki", Digest: "sha256:" + strings.Repeat("a", 64),
		UKI: &registry.Layer{Digest: "sha256:" + strings.Repeat("b", 64), MediaType: "application/octet-stream", Size: 1},
	}
	path := registry.UKIURL("", uki)
	boots := func(url string) func() bool {
		return func() bool { return strings.Contains(b.get("/httpboot").body, `"UKIURL":"`+url+`"`) }
	}
	m.source.SetDefaultUKI("http://manager.example:8082" + path)
	await.True(t, "the URL of the manager, for nobody says that the image is ours", boots("http://manager.example:8082"+path))
	m.pins.pinned(registry.DefaultUKIOwner, registry.Pin{Plan: uki, Site: booturl.EverySite, Version: 1})
	await.True(t, "our own URL", boots("http://boot.example:8082"+path))
	m.source.SetDefaultUKI("http://elsewhere.example/other.efi")
	await.True(t, "the URL of somebody else", boots("http://elsewhere.example/other.efi"))
	m.source.SetDefaultUKI("http://manager.example:8082" + path)
	await.True(t, "our own URL again", boots("http://boot.example:8082"+path))
	m.pins.unpinned(registry.DefaultUKIOwner)
	await.True(t, "the URL of the manager again", boots("http://manager.example:8082"+path))
}
