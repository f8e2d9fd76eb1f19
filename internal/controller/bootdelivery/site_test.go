package bootdelivery

import (
	"strings"
	"testing"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestScriptsOfASite: what the site's own URL was used for has a hole, which every boot server fills for the machine of that site.
func TestScriptsOfASite(t *testing.T) {
	const base = "http://boot.a.example"
	s := newStand(t, ours(func(_ *metalv1.Server, _ *metalv1.ServerBootConfiguration, o *bootv1.IPXEBootConfig) {
		o.Spec.KernelURL, o.Spec.InitrdURL = base+"/image?k", bootURL+"/image?i"
	})...)
	sites, err := booturl.Parse([]string{bootURL, "a=" + base})
	if err != nil {
		t.Fatal(err)
	}
	s.Sites = sites
	for _, c := range []struct{ label, site, kernel, initrd string }{
		{"", "", base, "http://hole"},
		{"a", "a", "http://hole", bootURL},
		{"gone", "", base, "http://hole"},
	} {
		controllertest.Change(t, s.API, "s", func(o *metalv1.Server) { o.Labels = map[string]string{metalv1.LabelSite: c.label} })
		s.Settle(t, s.ipxe, "ns/c")
		m := s.machine(t)
		script := string(m.Script().Render("http://hole"))
		if m.Site != c.site || !strings.Contains(script, "set kernel-url "+c.kernel+"/image?k\n") || !strings.Contains(script, "set initrd-url "+c.initrd+"/image?i\n") {
			t.Errorf("label %q: site %q and\n%s", c.label, m.Site, script)
		}
	}
}

func TestALabelOfTheSiteWakes(t *testing.T) {
	before, after := &metalv1.Server{}, &metalv1.Server{}
	after.Labels = map[string]string{"of no interest": "at all"}
	if identityChanged(before, after) {
		t.Error("any label wakes")
	}
	if after.Labels[metalv1.LabelSite] = "a"; !identityChanged(before, after) {
		t.Error("the site does not wake")
	}
}
