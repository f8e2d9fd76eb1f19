package admission_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/admission"
)

// TestObjectsOfAnotherInstallation are not judged. One that comes from there is judged as if it were new: nobody has judged it before.
func TestObjectsOfAnotherInstallation(t *testing.T) {
	rules := newAlone(t)
	rules.Belongs = func(obj metav1.Object) bool { return obj.GetLabels()["whose"] == "ours" }
	claim := func(whose, image string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": metalv1.GroupVersion.String(), "kind": "ServerClaim",
			"metadata": map[string]any{"namespace": "default", "name": "c", "labels": map[string]any{"whose": whose}},
			"spec":     map[string]any{"power": "On", "image": image},
		}}
	}
	const good, bad = "registry.example.org/os:1", "not an image"
	for what, c := range map[string]struct {
		before, now *unstructured.Unstructured
		allowed     bool
	}{
		"ours":                             {nil, claim("ours", good), true},
		"a wrong one of ours":              {nil, claim("ours", bad), false},
		"a wrong one of theirs":            {nil, claim("theirs", bad), true},
		"theirs gets wrong":                {claim("theirs", good), claim("theirs", bad), true},
		"ours gets wrong":                  {claim("ours", good), claim("ours", bad), false},
		"ours was wrong before":            {claim("ours", bad), claim("ours", bad), true},
		"a wrong one becomes ours":         {claim("theirs", bad), claim("ours", bad), false},
		"a wrong one of ours becomes free": {claim("ours", bad), claim("theirs", bad), true},
		"theirs is deleted":                {claim("theirs", bad), nil, true},
		"ours is deleted":                  {claim("ours", bad), nil, true},
	} {
		request := admission.Request{Kind: metalv1.GroupVersion.WithKind("ServerClaim").GroupKind(), Namespace: "default", Name: "c", Object: c.now, Old: c.before}
		verdict, err := rules.Validate(t.Context(), request)
		if err != nil || verdict.Allowed() != c.allowed {
			t.Errorf("%s: %v, %v", what, verdict.Errors, err)
		}
	}
}
