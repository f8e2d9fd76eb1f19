package bootdelivery

import (
	"strings"
	"testing"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestAURLThatWouldAddACommandIsRefused: also where no admission has looked at it. The field is named, and the machine is
// given nothing rather than half a script.
func TestAURLThatWouldAddACommandIsRefused(t *testing.T) {
	for field, set := range map[string]func(*bootv1.IPXEBootConfigSpec, string){
		"spec.kernelURL":   func(s *bootv1.IPXEBootConfigSpec, u string) { s.KernelURL = u },
		"spec.initrdURL":   func(s *bootv1.IPXEBootConfigSpec, u string) { s.InitrdURL = u },
		"spec.squashfsURL": func(s *bootv1.IPXEBootConfigSpec, u string) { s.SquashfsURL = u },
	} {
		for _, evil := range []string{"http://x\nshell", "http://x\rshell", "http://x\x00", "http://x\u0085shell", bootURL + "\nshell"} {
			c := handWritten("c")
			set(&c.Spec, evil)
			s := newStand(t, c)
			s.Settle(t, s.ipxe, "ns/c")
			checkError(t, s.readIPXE(t, "ns/c"), field)
			if m := s.machine(t); !m.Script().IsZero() || strings.Contains(s.script(t), "shell") {
				t.Errorf("%s = %q: served is %q", field, evil, s.script(t))
			}
			controllertest.Change(t, s.API, "ns/c", func(o *bootv1.IPXEBootConfig) { set(&o.Spec, "http://x/good") })
			s.Settle(t, s.ipxe, "ns/c")
			checkReady(t, s.readIPXE(t, "ns/c"))
		}
	}
}
