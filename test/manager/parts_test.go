package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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

// TestPartsRefused: who is to do what is said in words that are known.
func TestPartsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--boot-provider", "nobody"}, `--boot-provider: "nobody" is neither farrier nor external`},
		{[]string{"--boot-provider", "external", "--server-lifecycle", "external"}, "only one of them can be external"},
		{[]string{"--default-httpboot-oci-image", "a:b:c"}, "--default-httpboot-oci-image: "},
	} {
		if got := refused(t, tc.args...); !strings.Contains(got, tc.want) {
			t.Errorf("%v: %q, want …%s…", tc.args, got, tc.want)
		}
	}
}
