package reportintake

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// nameless is a Server without UUID whose probe was booted, in the attempt of that ID.
func nameless(name, id string) []client.Object {
	objects := discovering(name, id)
	objects[0].(*metalv1.Server).Spec.SystemUUID = ""
	objects[1].(*metalv1.ServerBootConfiguration).Spec.ServerRef.Name = name
	return objects
}

func told(t *testing.T, api *controllertest.API, server string) string {
	t.Helper()
	return controllertest.Read[corev1.ConfigMap](t, api, namespace+"/"+server+"-inspection").Annotations[machinerecord.AnnotationSystemUUID]
}

func TestTheAttemptTellsWhichServerWithoutUUIDReports(t *testing.T) {
	i, api := intake(t, append(nameless("s", "a"), nameless("other", "b")...)...)
	if err := i.Register(t.Context(), registration("b")); err != nil {
		t.Fatal(err)
	}
	if r := stored(t, api, "other"); r.Attempt != "b" || r.SystemUUID != uuid || told(t, api, "other") != uuid {
		t.Errorf("stored: %+v, told %q", r, told(t, api, "other"))
	}
	if !controllertest.Gone[corev1.ConfigMap](t, api, namespace+"/s-inspection") {
		t.Error("the report is on record of a Server whose attempt it is not")
	}
	if err := i.Register(t.Context(), registration("b")); err != nil {
		t.Errorf("told again: %v", err)
	}
}

// TestAReportWithTheUUIDOfAnotherIsThatOfItsAttempt: two machines may have one UUID.
func TestAReportWithTheUUIDOfAnotherIsThatOfItsAttempt(t *testing.T) {
	i, api := intake(t, append(discovering("known", "a"), nameless("s", "b")...)...)
	if err := i.Register(t.Context(), registration("b")); err != nil {
		t.Fatal(err)
	}
	stored(t, api, "s")
	if !controllertest.Gone[corev1.ConfigMap](t, api, namespace+"/known-inspection") {
		t.Error("the report is on record of the Server that has the UUID")
	}
}

func TestAServerWithoutUUIDIsNotFoundByAnythingElse(t *testing.T) {
	renamed := nameless("s", "a")
	renamed[0].(*metalv1.Server).Spec.SystemUUID = "4c4c4544-0043-3510-8052-b7c04f4e4d33"
	for name, tc := range map[string]struct {
		objects []client.Object
		attempt string
	}{
		"no attempt":                    {nameless("s", "a"), ""},
		"another attempt":               {nameless("s", "a"), "b"},
		"a server with another UUID":    {renamed, "a"},
		"a boot configuration orphaned": {nameless("s", "a")[1:], "a"},
	} {
		t.Run(name, func(t *testing.T) {
			i, _ := intake(t, tc.objects...)
			if err := i.Register(t.Context(), registration(tc.attempt)); !errors.Is(err, ErrUnknownMachine) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestAPlaceholderIsNoUUIDOfAMachine: SMBIOS 3.7 §7.2.1.
func TestAPlaceholderIsNoUUIDOfAMachine(t *testing.T) {
	for _, placeholder := range []string{
		"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "03000200-0400-0500-0006-000700080009",
	} {
		i, api := intake(t, nameless("s", "a")...)
		r := registration("a")
		r.SystemUUID = placeholder
		if err := i.Register(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got := told(t, api, "s"); got != "" {
			t.Errorf("%s is taken for the UUID of a machine: %s", placeholder, got)
		}
	}
}

func TestABootStateOfAServerWithoutUUID(t *testing.T) {
	i, api := intake(t, nameless("s", "a")...)
	if err := i.BootState(t.Context(), inspection.BootState{SystemUUID: uuid, Attempt: "a", Booted: true}); err != nil {
		t.Fatal(err)
	}
	config := controllertest.Read[metalv1.ServerBootConfiguration](t, api, namespace+"/s")
	if !apimeta.IsStatusConditionTrue(config.Status.Conditions, metalv1.ConditionBootStateReceived) {
		t.Errorf("conditions %v", config.Status.Conditions)
	}
}
