package system

import (
	"cmp"
	"sync/atomic"

	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// defaultUKI is what machines boot over UEFI HTTP that nobody has a configuration for. It is resolved in the
// background, as every image is, and the last good answer stays.
type defaultUKI struct {
	url atomic.Pointer[string]
	// tell is told of it as well.
	tell func(url string)
}

// newDefaultUKI begins to resolve the image, if one is given. What an image comes to is fetched at once.
func (s *System) newDefaultUKI() *defaultUKI {
	d := &defaultUKI{tell: func(string) {}}
	if s.stream != nil {
		d.tell = s.stream.source.SetDefaultUKI
	}
	d.set(s.settings.DefaultUKIURL)
	if s.settings.DefaultUKIImage == "" {
		return d
	}
	request := registry.Request{Reference: s.settings.DefaultUKIImage}
	update := func() {
		result, _ := s.images.Lookup(request)
		if result.Err != nil {
			s.logger.Info("default image not resolved", "flag", "--default-httpboot-oci-image", "image", s.settings.DefaultUKIImage, "error", result.Err)
		}
		if result.Plan.Digest == "" {
			return
		}
		// As in objects: images may be served elsewhere.
		url := registry.UKIURL(cmp.Or(s.settings.ImageServerURL, s.BootURL), result.Plan)
		if url == "" {
			s.logger.Info("default image has no UKI", "flag", "--default-httpboot-oci-image", "image", s.settings.DefaultUKIImage)
		}
		d.set(url)
		_ = s.blobs.Pin(registry.DefaultUKIOwner, registry.Pin{Plan: result.Plan, Site: booturl.EverySite}) // fails for pull secrets only
	}
	s.images.Subscribe(func(changed registry.Request) {
		if changed.Reference == request.Reference {
			update()
		}
	})
	update()
	return d
}

func (d *defaultUKI) set(url string) {
	d.url.Store(&url)
	d.tell(url)
}

func (d *defaultUKI) get() string { return *d.url.Load() }
