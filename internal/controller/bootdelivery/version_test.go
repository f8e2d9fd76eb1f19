package bootdelivery

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/objectversion"
)

// TestAnEntryIsAsNewAsTheNewestOfItsObjects: of boot config, boot configuration, Server and Secrets.
func TestAnEntryIsAsNewAsTheNewestOfItsObjects(t *testing.T) {
	ignition := secret("secret", map[string]string{bootv1.SecretKeyIgnition: "{}"})
	s := newStand(t, append(ours(ordered("a"), withIgnition), ignition)...)
	var got uint64
	s.View.Observe(bootview.Observer[bootview.Entry]{Put: func(e bootview.Entry) { got = e.Version }, Deleted: func(string) {}})
	s.Settle(t, s.ipxe, "ns/c")
	config, boot, server := s.readIPXE(t, "ns/c"), &metalv1.ServerBootConfiguration{}, &metalv1.Server{}
	for _, object := range []client.Object{ignition, server, boot, config} {
		switch object {
		case server:
			object.SetName("s")
		case boot:
			object.SetNamespace("ns")
			object.SetName("c")
		}
		if err := s.API.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		object.SetLabels(map[string]string{"changed": "yes"})
		if err := s.API.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		s.Step(t, s.ipxe, "ns/c")
		if want := objectversion.Newest(object); got != want || want == 0 {
			t.Errorf("after a change of %T the version is %d, want %d", object, got, want)
		}
	}
}
