package bootimage

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// built is an image for an architecture with this kernel.
func built(architecture, kernel string) Image {
	return Image{Architecture: architecture, Layers: []Layer{
		Bytes(KernelType, "vmlinuz", []byte(kernel)), Bytes(InitramfsType, "initramfs", []byte("initramfs")),
	}}
}

func add(t *testing.T, name string, i Image) Added {
	t.Helper()
	added, err := open(t, name, true).Add(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// kernels are what machines of each architecture boot, as package registry finds it.
func kernels(t *testing.T, name string) map[string]string {
	t.Helper()
	place := open(t, name, false)
	found := map[string]string{}
	for _, architecture := range []string{"amd64", "arm64", "riscv64"} {
		image, err := place.Find(t.Context(), architecture)
		if errors.Is(err, registry.ErrNoArchitecture) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		plan, err := image.Plan()
		if err != nil {
			t.Fatal(err)
		}
		content, err := place.Read(t.Context(), *plan.Kernel)
		if err != nil {
			t.Fatal(err)
		}
		found[architecture] = string(content)
	}
	return found
}

func both(t *testing.T, run func(t *testing.T, name string)) {
	local, err := localregistry.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Stop() })
	t.Run("registry", func(t *testing.T) { run(t, local.Reference("farrier/probe", "1")) })
	t.Run("layout", func(t *testing.T) { run(t, "oci:"+filepath.Join(t.TempDir(), "layout")+":1") })
}

// TestAdd: each architecture has its image, and what is built again replaces its own.
func TestAdd(t *testing.T) {
	both(t, func(t *testing.T, name string) {
		alone := add(t, name, built("amd64", "first"))
		if alone.Index != "" || alone.Digest != push(t, name, built("amd64", "first")) {
			t.Errorf("alone: %+v", alone)
		}
		two := add(t, name, built("arm64", "second"))
		if diff := cmp.Diff([]string{"amd64", "arm64"}, two.Architectures); diff != "" || two.Index == "" {
			t.Errorf("two: %+v", two)
		}
		if diff := cmp.Diff(map[string]string{"amd64": "first", "arm64": "second"}, kernels(t, name)); diff != "" {
			t.Errorf("two (-want +got):\n%s", diff)
		}
		if again := add(t, name, built("arm64", "second")); again.Index != two.Index {
			t.Errorf("the same image makes another index: %+v, %+v", again, two)
		}
		third := add(t, name, built("amd64", "third"))
		if diff := cmp.Diff(map[string]string{"amd64": "third", "arm64": "second"}, kernels(t, name)); diff != "" {
			t.Errorf("one again (-want +got):\n%s", diff)
		}
		digest, architectures, err := open(t, name, false).Architectures(t.Context())
		if err != nil || digest != third.Index || !cmp.Equal(architectures, []string{"amd64", "arm64"}) {
			t.Errorf("%s, %v, %v", digest, architectures, err)
		}
		push(t, name, built("arm64", "fourth"))
		if diff := cmp.Diff(map[string]string{"amd64": "fourth", "arm64": "fourth", "riscv64": "fourth"}, kernels(t, name)); diff != "" {
			t.Errorf("replaced by one image for all (-want +got):\n%s", diff)
		}
		if _, architectures, err := open(t, name, false).Architectures(t.Context()); err != nil || architectures != nil {
			t.Errorf("one image is for %v, %v", architectures, err)
		}
	})
}

// An image that does not say what it is for is replaced, as it always was.
func TestAddToAnImageOfOthers(t *testing.T) {
	local, err := localregistry.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Stop() })
	pushed, err := local.Push(t.Context(), "os", "1", localregistry.Image{Kernel: []byte("theirs"), Initramfs: []byte("i")})
	if err != nil {
		t.Fatal(err)
	}
	if added := add(t, pushed.Reference, built("amd64", "ours")); added.Index != "" {
		t.Errorf("%+v", added)
	}
	// An index of other tools keeps what it has for others.
	if _, _, err := local.PushIndex(t.Context(), "os", "2", true,
		localregistry.Entry{Image: localregistry.Image{Kernel: []byte("theirs"), Initramfs: []byte("i")}, Architecture: "arm64"},
		localregistry.Entry{Image: localregistry.Image{Kernel: []byte("old"), Initramfs: []byte("i")}, Architecture: "amd64"}); err != nil {
		t.Fatal(err)
	}
	add(t, local.Reference("os", "2"), built("amd64", "ours"))
	if diff := cmp.Diff(map[string]string{"amd64": "ours", "arm64": "theirs"}, kernels(t, local.Reference("os", "2"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// meddling is a store in which somebody else writes after each of our tags.
type meddling struct {
	oras.Target
	after func()
}

func (m meddling) Tag(ctx context.Context, desc ocispec.Descriptor, reference string) error {
	err := m.Target.Tag(ctx, desc, reference)
	m.after()
	return err
}

// TestAddIsOvertaken: who was overwritten adds to what overwrote it, and who always is says so.
func TestAddIsOvertaken(t *testing.T) {
	local, err := localregistry.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Stop() })
	for name, c := range map[string]struct {
		times int
		want  error
	}{"once": {1, nil}, "always": {100, ErrOvertaken}} {
		t.Run(name, func(t *testing.T) {
			reference := local.Reference("os", name)
			place, err := Open(t.Context(), reference, Options{PlainHTTP: true, Client: http.DefaultClient}, true)
			if err != nil {
				t.Fatal(err)
			}
			place.store.Target = meddling{place.store.Target, func() {
				if c.times--; c.times >= 0 {
					push(t, reference, built("arm64", "theirs"))
				}
			}}
			if _, err := place.Add(t.Context(), built("amd64", "ours")); !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if want := map[string]string{"amd64": "ours", "arm64": "theirs"}; c.want == nil && !cmp.Equal(want, kernels(t, reference)) {
				t.Errorf("%v, want %v", kernels(t, reference), want)
			}
		})
	}
}

// Two that write to one layout would lose what one of them wrote.
func TestALayoutHasOneWriter(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "layout")
	early := open(t, "oci:"+folder+":1", true)
	add(t, "oci:"+folder+":2", built("amd64", "another tag")) // after early has read the index
	locked, err := os.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(locked.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func() error{
		"add":  func() error { _, err := early.Add(t.Context(), built("amd64", "x")); return err },
		"push": func() error { _, err := early.Push(t.Context(), built("amd64", "x")); return err },
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), "somebody else writes to this layout now") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := locked.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := early.Add(t.Context(), built("amd64", "x")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("another tag", kernels(t, "oci:"+folder+":2")["amd64"]); diff != "" {
		t.Errorf("the other tag is lost: %s", diff)
	}
}
