package bootconfig

import (
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

func TestURLsOfTheServersSite(t *testing.T) {
	s, _ := pushed(t, both)
	sites, err := booturl.Parse([]string{bootURL, "a=http://[fd00:a::1]:8082", "a=http://boot.a.example", "six=http://[fd00:6::1]"})
	if err != nil {
		t.Fatal(err)
	}
	s.Sites = sites
	s.resolved(t)
	for _, c := range []struct {
		label, base string
		known       bool
	}{
		{"", bootURL, true}, {"a", "http://boot.a.example", true}, {"six", "http://[fd00:6::1]", true}, {"gone", bootURL, false}, {"a", "http://boot.a.example", true},
	} {
		controllertest.Change(t, s.API, "s", func(o *metalv1.Server) { o.Labels = map[string]string{metalv1.LabelSite: c.label} })
		config := s.settle(t)
		ipxe, http := s.ipxe(t).Spec, s.http(t).Spec
		for _, url := range []string{ipxe.KernelURL, ipxe.InitrdURL, http.UKIURL} {
			if !strings.HasPrefix(url, c.base+"/") {
				t.Errorf("site %q: %s, want it at %s", c.label, url, c.base)
			}
		}
		if c.known {
			if found := apimeta.FindStatusCondition(config.Status.Conditions, metalv1.ConditionSiteKnown); found != nil {
				t.Errorf("site %q: %+v", c.label, found)
			}
			continue
		}
		controllertest.Says(t, config.Status.Conditions, metalv1.ConditionSiteKnown, metav1.ConditionFalse, metalv1.ReasonUnknownSite, `"gone"`, metalv1.LabelSite, "--boot-url")
		checkState(t, s.delivered(t), metalv1.ServerBootConfigurationStateReady)
	}
	s.ImageURL = "http://images.example"
	s.settle(t)
	if got := s.ipxe(t).Spec.KernelURL; !strings.HasPrefix(got, s.ImageURL+"/image?") {
		t.Errorf("%s with an image server", got)
	}
}

func TestALabelOfTheSiteWakes(t *testing.T) {
	before, after := newServer(), newServer()
	after.Labels = map[string]string{"of no interest": "at all"}
	if hardwareChanged(before, after) {
		t.Error("any label wakes")
	}
	if after.Labels[metalv1.LabelSite] = "a"; !hardwareChanged(before, after) {
		t.Error("the site does not wake")
	}
}
