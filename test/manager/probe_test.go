package manager

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
)

// TestAProbeIsServedAfterAStartWithoutRegistry: its boot configs are stored nowhere, and its image was known to the manager that ordered its boot and
// was killed. The machine gets the same from the next, on another host.
func TestAProbeIsServedAfterAStartWithoutRegistry(t *testing.T) {
	s := newSiteOf(t, 1, func(o *sim.Options) { o.BootURL = func() string { return "http://127.0.0.1:1" } }) // the machine does not boot by itself
	first := launch(t, "first", s.args...)
	s.introduce()
	key := client.ObjectKey{Namespace: s.namespace, Name: s.BMCs()[0].Name + "-system-0"}
	eventually(t, "the machine is on for its probe", func() error {
		var config metalv1.ServerBootConfiguration
		if err := s.Get(t.Context(), key, &config); err != nil {
			return err
		}
		if attempt := config.Annotations[metalv1.AnnotationBootAttempt]; !strings.Contains(attempt, `"started"`) {
			return fmt.Errorf("the attempt is %q", attempt)
		}
		return nil
	})
	var stored bootv1.IPXEBootConfig
	if err := s.Get(t.Context(), key, &stored); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("its IPXEBootConfig: %v", err)
	}
	path := "/ipxe/" + s.Machine(0).UUID()
	var want answer
	eventually(t, "its script", func() (err error) {
		want, err = s.ask(path)
		return err
	})
	if !strings.Contains(want.body, "/image?") {
		t.Fatalf("its script boots nothing:\n%s", want.body)
	}

	first.Kill()
	s.registry.SetAway(true)
	s.endLease()
	launch(t, "second", s.args...)
	eventually(t, "its script from the next manager", func() error {
		got, err := s.ask(path)
		if err == nil && got != want {
			return fmt.Errorf("it is\n%s\nwant\n%s", got.body, want.body)
		}
		return err
	})
}
