package bootdelivery

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestAChangeInsideAnIgnitionSecretIsTold: who has installed a machine learns that it would be installed with something
// else now, and nobody learns what. Of a Secret that changes no more than its metadata is heard.
func TestAChangeInsideAnIgnitionSecretIsTold(t *testing.T) {
	s := newStand(t, append(ours(withIgnition), secret("secret", map[string]string{"ignition": "{}"}))...)
	type content struct {
		status      metav1.ConditionStatus
		fingerprint string
	}
	told := func() (content, []string) {
		t.Helper()
		var woken []string
		meta := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "secret"}}
		for _, request := range s.usersOf(bootmethod.IPXE)(t.Context(), meta) {
			woken = append(woken, request.String())
			s.Settle(t, s.ipxe, request.String())
		}
		status := s.readIPXE(t, "ns/c").Status
		found := content{fingerprint: status.IgnitionFingerprint}
		if c := apimeta.FindStatusCondition(status.Conditions, bootv1.ConditionIgnitionContent); c != nil {
			found.status = c.Status
		}
		return found, woken
	}
	change := func(key, value string) {
		controllertest.Change(t, s.API, "ns/secret", func(o *corev1.Secret) { o.Data[key] = []byte(value) })
	}
	first, woken := told()
	if len(woken) != 1 || first.status != metav1.ConditionTrue || first.fingerprint == "" {
		t.Fatalf("woken %v, told %+v", woken, first)
	}
	controllertest.Change(t, s.API, "ns/secret", func(o *corev1.Secret) { o.Labels = map[string]string{"a": "b"} })
	if again, _ := told(); again.fingerprint != first.fingerprint {
		t.Errorf("nothing inside has changed: %q, %q", first.fingerprint, again.fingerprint)
	}
	change("other", "x")
	if again, _ := told(); again.fingerprint != first.fingerprint {
		t.Errorf("what no machine is given has changed: %q, %q", first.fingerprint, again.fingerprint)
	}
	const text = `{"ignition":{"version":"3.4.0"}}`
	change("ignition", text)
	second, _ := told()
	if second.status != metav1.ConditionTrue || second.fingerprint == first.fingerprint || strings.Contains(second.fingerprint, text) {
		t.Errorf("told %+v, before %+v", second, first)
	}
	change("format", "fcos")
	change("ignition", "variant: [")
	if broken, _ := told(); broken.status != metav1.ConditionFalse || broken.fingerprint != "" {
		t.Errorf("what cannot be delivered is told as %+v", broken)
	}
	change("format", "")
	change("ignition", text)
	if back, _ := told(); back.fingerprint != second.fingerprint {
		t.Errorf("the same again: %q, %q", second.fingerprint, back.fingerprint)
	}
}

// TestTheContentOfWhatPeopleWriteIsNotTold: nothing that is remembered is installed by it.
func TestTheContentOfWhatPeopleWriteIsNotTold(t *testing.T) {
	config := handWritten("c")
	withIgnition(nil, nil, config)
	s := newStand(t, config, secret("secret", map[string]string{"ignition": "{}"}))
	s.Settle(t, s.ipxe, "ns/c")
	checkReady(t, s.readIPXE(t, "ns/c"))
	if c := apimeta.FindStatusCondition(s.readIPXE(t, "ns/c").Status.Conditions, bootv1.ConditionIgnitionContent); c != nil {
		t.Errorf("told %+v", c)
	}
}
