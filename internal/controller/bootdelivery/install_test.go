package bootdelivery

import (
	"testing"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/attempt"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/ignition"
)

// TestAnInstalledMachineIsSentToItsDisk: with boot policy Once, whatever it asks for; its token is good no more.
func TestAnInstalledMachineIsSentToItsDisk(t *testing.T) {
	for name, a := range map[string]attempt.Attempt{
		"it has told that it booted": {ID: "a", Number: 1, Ordered: &controllertest.Start, Installed: &controllertest.Start},
		"it boots its disk":          {ID: "a", Number: 2, Ordered: &controllertest.Start, Disk: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, ours(func(_ *metalv1.Server, c *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
				c.Annotations = map[string]string{metalv1.AnnotationBootAttempt: a.String()}
			})...)
			s.Settle(t, s.ipxe, "ns/c")
			if got, want := s.script(t), string(bootview.ExitScript().Render(bootURL)); got != want {
				t.Errorf("it is told\n%s", got)
			}
			if m := s.machine(t); m.Attempt.IsOpen() || m.HasToken(ignition.Token(tokenKey, "server-uid", "a")) {
				t.Errorf("its attempt is open: %+v", m.Attempt)
			}
		})
	}
}

// TestTheViewKnowsWhichBootCleans: a boot server tells the agent.
func TestTheViewKnowsWhichBootCleans(t *testing.T) {
	a := attempt.Attempt{ID: "a", Number: 1, Ordered: &controllertest.Start, Clean: "full"}
	s := newStand(t, ours(func(_ *metalv1.Server, c *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
		c.Annotations = map[string]string{metalv1.AnnotationBootAttempt: a.String()}
	})...)
	s.Settle(t, s.ipxe, "ns/c")
	if m := s.machine(t); m.Attempt.Clean != "full" || !m.Attempt.Open {
		t.Errorf("%+v", m.Attempt)
	}
}
