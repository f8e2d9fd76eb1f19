package system

import (
	"context"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/test/await"
)

// TestTheDefaultUKIIsWhereImagesAre: unknown machines fetch it where the others fetch theirs.
func TestTheDefaultUKIIsWhereImagesAre(t *testing.T) {
	registry, err := localregistry.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Stop() })
	pushed, err := registry.Push(t.Context(), "org/uki", "1", localregistry.SmallUKI(3))
	if err != nil {
		t.Fatal(err)
	}
	path := "/httpboot/" + registry.Address() + "/org/uki/sha256-" + strings.TrimPrefix(pushed.UKI, "sha256:") + ".efi"
	for images, base := range map[string]string{"": "http://10.0.0.1:8082", "http://images.example:8083": "http://images.example:8083"} {
		o := DefaultOptions()
		o.DataDir, o.BootAddress, o.BootURLs = t.TempDir(), "127.0.0.1:0", []string{"http://10.0.0.1:8082"}
		o.ImageServerURL, o.DefaultUKIImage = images, registry.Reference("org/uki", "1")
		o.AllowedRegistries, o.PlainHTTPRegistries = []string{registry.Address()}, []string{registry.Address()}
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.newImages(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		resolved := make(chan error, 1)
		go func() { resolved <- s.images.Run(ctx) }()
		d := s.newDefaultUKI()
		await.True(t, "the default UKI is known", func() bool { return d.get() != "" })
		if got := d.get(); got != base+path {
			t.Errorf("%q: %s, want %s", images, got, base+path)
		}
		cancel()
		<-resolved
		_, _ = s.blobs.Close(), s.Stop()
	}
}
