package derivedboot

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// TestTheImageOfAnOrderedBootIsRead: as it was written, for as long as that boot is under way and that image is wanted.
func TestTheImageOfAnOrderedBootIsRead(t *testing.T) {
	image := Image{Reference: "registry/probe:1", Plan: registry.Plan{
		Registry: "registry", Repository: "probe", Tag: "1", Digest: "sha256:1", Discovery: true,
		Kernel: &registry.Layer{Digest: "sha256:2", MediaType: "kernel", Size: 7}, Initramfs: &registry.Layer{Digest: "sha256:3", MediaType: "initramfs", Size: 8},
	}}
	var none *bootattempt.Attempt
	ordered := none.Next("a", time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	for name, test := range map[string]struct {
		change func(*metalv1.ServerBootConfiguration)
		want   bool
	}{
		"ordered": {func(*metalv1.ServerBootConfiguration) {}, true},
		"not ordered": {func(c *metalv1.ServerBootConfiguration) {
			c.Annotations[metalv1.AnnotationBootAttempt] = `{"id":"a","number":1}`
		}, false},
		"another image":     {func(c *metalv1.ServerBootConfiguration) { c.Spec.Image = "registry/probe:2" }, false},
		"by an old version": {func(c *metalv1.ServerBootConfiguration) { delete(c.Annotations, metalv1.AnnotationBootImage) }, false},
		"unreadable":        {func(c *metalv1.ServerBootConfiguration) { c.Annotations[metalv1.AnnotationBootImage] = "{" }, false},
		"of no image": {func(c *metalv1.ServerBootConfiguration) {
			c.Annotations[metalv1.AnnotationBootImage] = `{"reference":"registry/probe:1"}`
		}, false},
	} {
		config := internal()
		config.Annotations[metalv1.AnnotationBootAttempt], config.Annotations[metalv1.AnnotationBootImage] = ordered.String(), image.String()
		test.change(config)
		plan, ok := Ordered(config)
		if ok != test.want || ok && !cmp.Equal(plan, image.Plan) {
			t.Errorf("%s: %v, %+v", name, ok, plan)
		}
	}
	if (Image{Reference: "registry/probe:1"}).String() != "" {
		t.Error("what is not known is written down")
	}
}
