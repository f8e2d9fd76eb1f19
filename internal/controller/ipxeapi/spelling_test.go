package ipxeapi

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ipxeapi/content"
)

// TestLaterSpellings: what later versions of the API call otherwise means the same.
func TestLaterSpellings(t *testing.T) {
	core := func(resource, name string) ipxev1.ResourceReference {
		return ipxev1.ResourceReference{Version: "v1", Resource: resource, Namespace: "default", Name: name}
	}
	p := newProfile("p", "", ipxev1.AdditionalContent{Name: "s", ObjectRef: &ipxev1.ObjectReference{ResourceReference: core("secrets", "secret"), JSONPath: ".data.k"}},
		ipxev1.AdditionalContent{Name: "w", Webhook: &ipxev1.Webhook{URL: "https://webhook.example/", BasicAuthRef: &ipxev1.WebhookBasicAuthRef{
			ResourceReference: core("secrets", "secret"), UsernameJSONPath: ".data.user", PasswordJSONPath: ".data.pass",
		}}})
	p.Spec.IPXETemplate = "#!ipxe\necho {{ .s }} {{ .w }}\n"
	yes := true
	fallback, group := newAssignment("a-default", "p", nil), newAssignment("b-group", "q", map[string]string{"manufacturer": "x"})
	fallback.Spec.IsDefault, fallback.Spec.SubjectSelectors = &yes, map[string][]string{"buildarch": {"arm64"}, "uuidList": {}}
	s := newStand(t, p, newProfile("q", "#!ipxe\necho group\n"), fallback, group,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "secret"}, Data: map[string][]byte{"k": []byte("text"), "user": []byte("u"), "pass": []byte("p")}})
	s.webhooks.results["https://webhook.example/"] = content.Result{Bytes: []byte("answer"), Found: true}
	s.settle(t, "p:default/p", "p:default/q", "a:default/a-default", "a:default/b-group")
	for query, want := range map[string]string{
		"buildarch=arm64":                "#!ipxe\necho text answer\n",
		"buildarch=arm64&manufacturer=x": "#!ipxe\necho group\n",
	} {
		if got, err := s.script(t, query); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", query, got, err, want)
		}
	}
	if asked := s.webhooks.asked; len(asked) == 0 || asked[0].Username != "u" || string(asked[0].Password) != "p" {
		t.Errorf("asked %+v", asked)
	}
	if _, err := s.script(t, "buildarch=x86_64"); err == nil {
		t.Error("a machine of another architecture is given something")
	}
}

// TestWhatALaterVersionSaysAndThisCannot is said in the condition.
func TestWhatALaterVersionSaysAndThisCannot(t *testing.T) {
	s := newStand(t, newProfile("p", "#!ipxe\necho {{ .c }}\n", ipxev1.AdditionalContent{Name: "c", ObjectRef: &ipxev1.ObjectReference{
		ResourceReference: ipxev1.ResourceReference{Group: "example.com", Resource: "things", Name: "t"}, JSONPath: ".data.k",
	}}))
	s.settle(t, "p:default/p")
	s.profileSays(t, "p", ipxev1.ConditionReady, metav1.ConditionFalse, reasonContentUnavailable, "c: objectRef.resource")
}
