package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/loopback"
)

// TestPartsAlone: one process looks after servers, and boots nothing; another boots machines, and knows neither BMCs
// nor claims. What they have in common is objects.
func TestPartsAlone(t *testing.T) {
	s := newSite(t)
	reports := loopback.Free(t)
	lifecycle := launch(t, "lifecycle", slices.Concat(s.args, []string{"--boot-provider", "external", "--boot-address", reports})...)
	delivery := launch(t, "delivery", slices.Concat(s.args, []string{"--server-lifecycle", "external"})...)
	lifecycle.isReady()
	delivery.isReady()

	s.discover()
	claimed := s.claim("web")
	eventually(t, "the machine is installed", func() error {
		boots := s.Machine(claimed).Record()
		if last := boots[len(boots)-1]; last.Outcome != sim.OutcomeInstalled {
			return fmt.Errorf("its last boot: %q %s", last.Outcome, last.Why)
		}
		return nil
	})

	var delivered, reported bool
	for i := range s.BMCs() {
		for _, boot := range s.Machine(i).Record() {
			for _, fetch := range boot.Fetches {
				switch {
				case strings.Contains(fetch.URL, "/register"):
					reported = true
					if !strings.Contains(fetch.URL, reports) {
						t.Errorf("the probe reports to %s; the lifecycle listens on %s", fetch.URL, reports)
					}
				case strings.Contains(fetch.URL, reports):
					t.Errorf("%s: the lifecycle alone delivers nothing", fetch.URL)
				case strings.Contains(fetch.URL, "/ignition/"):
					delivered = true
				}
			}
		}
	}
	if !delivered || !reported {
		t.Errorf("ignition fetched: %t, probe reported: %t", delivered, reported)
	}
	lifecycle.stop()
	delivery.stop()
}

// TestMaintenanceKindsByOthers: who leaves settings and firmware to others touches no object of these kinds, and does the rest.
func TestMaintenanceKindsByOthers(t *testing.T) {
	s := newSite(t)
	p := launch(t, "lifecycle", slices.Concat(s.args, []string{"--maintenance-kinds", "external"})...)
	p.isReady()
	s.discover()
	settings := &metalv1.BIOSSettings{ObjectMeta: metav1.ObjectMeta{Name: "performance"}}
	settings.Spec.ServerRef = &metalv1.LocalObjectReference{Name: s.BMCs()[0].Name + "-system-0"}
	settings.Spec.SettingsFlow = []metalv1.SettingsFlowItem{{Name: "a", Priority: 1, Settings: map[string]string{"SystemProfile": "Quiet"}}}
	set := &metalv1.BIOSVersionSet{ObjectMeta: metav1.ObjectMeta{Name: "bios"}}
	set.Spec.BIOSVersionTemplate.Version = "2.20.0"
	set.Spec.BIOSVersionTemplate.Image.URI = "http://127.0.0.1:1/bios-2.20.0.bin"
	for _, obj := range []client.Object{settings, set} {
		if err := s.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	s.claim("web") // which takes longer than either would be left alone otherwise
	var children metalv1.BIOSVersionList
	for _, err := range []error{s.Get(t.Context(), client.ObjectKeyFromObject(settings), settings), s.Get(t.Context(), client.ObjectKeyFromObject(set), set), s.List(t.Context(), &children)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(settings.Finalizers) > 0 || settings.Status.State != "" || len(set.Finalizers) > 0 || len(set.Status.Conditions) > 0 || len(children.Items) > 0 {
		t.Errorf("BIOSSettings %v, %+v; BIOSVersionSet %v, %+v; %d children", settings.Finalizers, settings.Status, set.Finalizers, set.Status, len(children.Items))
	}
	p.stop()
}

// TestPartsRefused: who is to do what is said in words that are known.
func TestPartsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--boot-provider", "nobody"}, `--boot-provider: "nobody" is neither farrier nor external`},
		{[]string{"--maintenance-kinds", "none"}, `--maintenance-kinds: "none" is neither farrier nor external`},
		{[]string{"--boot-provider", "external", "--server-lifecycle", "external"}, "only one of them can be external"},
		{[]string{"--default-httpboot-oci-image", "a:b:c"}, "--default-httpboot-oci-image: "},
	} {
		if got := refused(t, tc.args...); !strings.Contains(got, tc.want) {
			t.Errorf("%v: %q, want …%s…", tc.args, got, tc.want)
		}
	}
}
