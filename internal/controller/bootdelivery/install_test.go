package bootdelivery

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/ignition"
)

// TestAnInstalledMachineIsSentToItsDisk: with boot policy Once, whatever it asks for; its token is good no more.
func TestAnInstalledMachineIsSentToItsDisk(t *testing.T) {
	for name, a := range map[string]bootattempt.Attempt{
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
			if m := s.machine(t); m.Attempt().IsOpen() || m.HasToken(ignition.Token(tokenKey, "server-uid", "a")) {
				t.Errorf("its attempt is open: %+v", m.Attempt())
			}
		})
	}
}

// TestAnInstalledMachineIsToldNoUKI: firmware that boots over HTTP by itself would install it again. It is still known, so
// that it is not given the default image either, and is told again when it is to be installed anew.
func TestAnInstalledMachineIsToldNoUKI(t *testing.T) {
	installed := bootattempt.Attempt{ID: "a", Number: 1, Ordered: &controllertest.Start, Installed: &controllertest.Start}
	disk := bootattempt.Attempt{ID: "a", Number: 2, Ordered: &controllertest.Start, Disk: true}
	objects := ours()
	http := &bootv1.HTTPBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", OwnerReferences: objects[2].GetOwnerReferences()}}
	http.Spec.SystemUUID, http.Spec.UKIURL = uuid, bootURL+"/httpboot/x.efi"
	s := newStand(t, objects[0], objects[1], http)
	for _, c := range []struct {
		name, attempt, want string
	}{
		{"first boot", (&bootattempt.Attempt{ID: "a", Number: 1, Ordered: &controllertest.Start}).String(), http.Spec.UKIURL},
		{"it has told that it booted", installed.String(), ""},
		{"it boots its disk", disk.String(), ""},
		{"it is to be installed anew", (&bootattempt.Attempt{ID: "b", Number: 3, Ordered: &controllertest.Start, Cold: true}).String(), http.Spec.UKIURL},
	} {
		controllertest.Change(t, s.API, "ns/c", func(o *metalv1.ServerBootConfiguration) {
			o.Annotations = map[string]string{metalv1.AnnotationBootAttempt: c.attempt}
		})
		s.Settle(t, s.http, "ns/c")
		if m := s.machine(t); m.FileURL() != c.want || m.FileEntry() != "HTTPBootConfig/ns/c" {
			t.Errorf("%s: %q of %s, want %q", c.name, m.FileURL(), m.FileEntry(), c.want)
		}
		h := controllertest.Read[bootv1.HTTPBootConfig](t, s.API, "ns/c")
		controllertest.Says(t, h.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, "Ready")
	}
}

// TestTheViewKnowsWhichBootCleans: a boot server tells the agent.
func TestTheViewKnowsWhichBootCleans(t *testing.T) {
	a := bootattempt.Attempt{ID: "a", Number: 1, Ordered: &controllertest.Start, Clean: "full"}
	s := newStand(t, ours(func(_ *metalv1.Server, c *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
		c.Annotations = map[string]string{metalv1.AnnotationBootAttempt: a.String()}
	})...)
	s.Settle(t, s.ipxe, "ns/c")
	if m := s.machine(t); m.Attempt().Clean != "full" || !m.Attempt().Open {
		t.Errorf("%+v", m.Attempt())
	}
}
