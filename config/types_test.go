package config

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/farrier-dev/farrier/api"
)

// TestGoTypesKnowEveryKind holds the schemes of the Go types against the CRDs, and decodes
// each sample into its type with unknown fields refused.
func TestGoTypesKnowEveryKind(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	crds := loadCRDs(t)
	samples, err := Samples()
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range samples {
		if crds[sample.GetKind()] == nil {
			continue
		}
		gvk := sample.GroupVersionKind()
		typed, err := scheme.New(gvk)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if !scheme.Recognizes(gvk.GroupVersion().WithKind(gvk.Kind + "List")) {
			t.Errorf("%s: the scheme has no list of them", gvk)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(sample.Object, typed, true); err != nil {
			t.Errorf("%s %s: %v", gvk, sample.GetName(), err)
		}
	}
}
