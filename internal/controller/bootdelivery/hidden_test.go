package bootdelivery

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestWhatIsWrittenByHandSaysThatItIsHidden while the boot configuration of a Server speaks for its machine, and that it is served again once
// that is gone.
func TestWhatIsWrittenByHandSaysThatItIsHidden(t *testing.T) {
	ready := func(t *testing.T, s *stand, status metav1.ConditionStatus, state bootv1.IPXEBootConfigState, reason string, parts ...string) {
		t.Helper()
		hand := s.readIPXE(t, "ns/hand")
		controllertest.Says(t, hand.Status.Conditions, metalv1.ConditionReady, status, reason, parts...)
		if hand.Status.State != state {
			t.Errorf("state %s, want %s", hand.Status.State, state)
		}
	}
	s := newStand(t, append(ours(ordered("boot-1")), handWritten("hand"))...)
	s.Settle(t, s.ipxe, "ns/hand")
	ready(t, s, metav1.ConditionTrue, bootv1.IPXEBootConfigStateReady, "Ready")
	s.woken(bootmethod.IPXE.Kind)

	s.Settle(t, s.ipxe, "ns/c")
	if woken := s.woken(bootmethod.IPXE.Kind); !slices.Contains(woken, "ns/hand") {
		t.Fatalf("woken: %v", woken)
	}
	s.Settle(t, s.ipxe, "ns/hand")
	ready(t, s, metav1.ConditionFalse, bootv1.IPXEBootConfigStatePending, "Overridden", "IPXEBootConfig/ns/c")

	s.Settle(t, s.ipxe, "ns/c")
	if woken := s.woken(bootmethod.IPXE.Kind); len(woken) > 0 {
		t.Errorf("nothing has changed, and %v are woken", woken)
	}
	controllertest.Change(t, s.API, "s", func(server *metalv1.Server) { server.Spec.BootConfigurationRef = nil })
	s.Settle(t, s.ipxe, "ns/c")
	if woken := s.woken(bootmethod.IPXE.Kind); !slices.Contains(woken, "ns/hand") {
		t.Fatalf("woken: %v", woken)
	}
	s.Settle(t, s.ipxe, "ns/hand")
	ready(t, s, metav1.ConditionTrue, bootv1.IPXEBootConfigStateReady, "Ready")

	controllertest.Change(t, s.API, "s", func(server *metalv1.Server) {
		server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "c"}
	})
	s.Settle(t, s.ipxe, "ns/c")
	s.Settle(t, s.ipxe, "ns/hand")
	ready(t, s, metav1.ConditionFalse, bootv1.IPXEBootConfigStatePending, "Overridden")
	s.woken(bootmethod.IPXE.Kind)
	s.Remove(t, s.readIPXE(t, "ns/c"))
	s.Settle(t, s.ipxe, "ns/c")
	if woken := s.woken(bootmethod.IPXE.Kind); !slices.Contains(woken, "ns/hand") {
		t.Fatalf("woken by what is gone: %v", woken)
	}
	s.Settle(t, s.ipxe, "ns/hand")
	ready(t, s, metav1.ConditionTrue, bootv1.IPXEBootConfigStateReady, "Ready")
}

// TestTheOtherKindHides a boot config as well: a machine of a Server that boots over UEFI HTTP is given no script that somebody wrote.
func TestTheOtherKindHides(t *testing.T) {
	objects := ours(ordered("boot-1"))
	http := &bootv1.HTTPBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", OwnerReferences: objects[2].GetOwnerReferences()}}
	http.Spec.SystemUUID, http.Spec.UKIURL = uuid, bootURL+"/uki"
	s := newStand(t, objects[0], objects[1], http, handWritten("hand"))
	s.Settle(t, s.http, "ns/c")
	s.Settle(t, s.ipxe, "ns/hand")
	controllertest.Says(t, s.readIPXE(t, "ns/hand").Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "Overridden", "HTTPBootConfig/ns/c")
}

// TestWhatNoMachineCanBeServedByIsNotReady: neither an identifier that no machine has, nor a URL that firmware does not fetch.
func TestWhatNoMachineCanBeServedByIsNotReady(t *testing.T) {
	const uki = "http://192.0.2.1/uki.efi"
	for name, c := range map[string]struct {
		spec  bootv1.HTTPBootConfigSpec
		field string // empty: it is well
	}{
		"a UUID":                     {spec: bootv1.HTTPBootConfigSpec{SystemUUID: uuid, UKIURL: uki}},
		"addresses":                  {spec: bootv1.HTTPBootConfigSpec{NetworkIdentifiers: []string{mac, "10.0.0.7", "fe80::1"}, UKIURL: "HTTPS://boot.example/uki"}},
		"the older name":             {spec: bootv1.HTTPBootConfigSpec{SystemIPs: []string{"10.0.0.7"}, UKIURL: uki}},
		"no address":                 {spec: bootv1.HTTPBootConfigSpec{NetworkIdentifiers: []string{"not-an-ip"}, UKIURL: uki}, field: "spec.networkIdentifiers[0]"},
		"one good and one bad":       {spec: bootv1.HTTPBootConfigSpec{NetworkIdentifiers: []string{mac, "10.0.0"}, UKIURL: uki}, field: "spec.networkIdentifiers[1]"},
		"a bad one by the old name":  {spec: bootv1.HTTPBootConfigSpec{SystemIPs: []string{"x"}, UKIURL: uki}, field: "spec.systemIPs[0]"},
		"no UUID":                    {spec: bootv1.HTTPBootConfigSpec{SystemUUID: "not-a-uuid", UKIURL: uki}, field: "spec.systemUUID"},
		"a UUID that thousands have": {spec: bootv1.HTTPBootConfigSpec{SystemUUID: "00000000-0000-0000-0000-000000000000", UKIURL: uki}, field: "spec.systemUUID"},
		"nobody":                     {spec: bootv1.HTTPBootConfigSpec{UKIURL: uki}, field: "spec names no machine"},
		"a file":                     {spec: bootv1.HTTPBootConfigSpec{SystemUUID: uuid, UKIURL: "file:///etc/passwd"}, field: "spec.ukiURL"},
		"no host":                    {spec: bootv1.HTTPBootConfigSpec{SystemUUID: uuid, UKIURL: "http:///uki"}, field: "spec.ukiURL"},
		"no URL":                     {spec: bootv1.HTTPBootConfigSpec{SystemUUID: uuid, UKIURL: "uki.efi"}, field: "spec.ukiURL"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, &bootv1.HTTPBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "h"}, Spec: c.spec})
			s.Settle(t, s.http, "ns/h")
			got := controllertest.Read[bootv1.HTTPBootConfig](t, s.API, "ns/h")
			if c.field == "" {
				controllertest.Says(t, got.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, "Ready")
				return
			}
			controllertest.Says(t, got.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "Error", c.field)
			if got.Status.State != bootv1.HTTPBootConfigStateError {
				t.Errorf("state %s", got.Status.State)
			}
			if m, _ := s.View.ByUUID(uuid); m != nil && m.FileURL() != "" && c.spec.SystemUUID == uuid {
				t.Errorf("the machine is told to fetch %q", m.FileURL())
			}
		})
	}
	for field, spec := range map[string]bootv1.IPXEBootConfigSpec{
		"spec.systemUUID":       {SystemUUID: "x"},
		"spec.systemIPs[0]":     {SystemIPs: []string{"x"}},
		"spec names no machine": {},
	} {
		c := handWritten("c")
		c.Spec.SystemUUID, c.Spec.SystemIPs = spec.SystemUUID, spec.SystemIPs
		s := newStand(t, c)
		s.Settle(t, s.ipxe, "ns/c")
		controllertest.Says(t, s.readIPXE(t, "ns/c").Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "Error", field)
	}
}
