package bootconfig

import (
	"testing"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

// TestWhatAnImageNamesNow: nothing before the registry has told, and nothing that no machine boots.
func TestWhatAnImageNamesNow(t *testing.T) {
	s, p := pushed(t, both)
	unknown := newStand(t)
	if image, known := unknown.named(newServer(), unknown.registry.Address()+"/os:1"); known {
		t.Errorf("nobody has told what it names: %+v", image)
	}
	s.resolved(t)
	image, known := s.named(newServer(), p.Reference)
	if !known || image.Reference != p.Reference || image.Plan.Digest != p.Digest {
		t.Errorf("known %v: %+v", known, image)
	}
	if image, known := s.named(newServer(), "registry.example.org/os:1"); known {
		t.Errorf("a registry that is not allowed: %+v", image)
	}
	half, q := pushed(t, localregistry.Image{Kernel: []byte("kernel alone")})
	half.resolved(t)
	if image, known := half.named(newServer(), q.Reference); known {
		t.Errorf("an image that no machine boots: %+v", image)
	}
}
