package config

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// An admitter does with an object what an API server does: defaults, unknown fields, schema,
// list types, CEL. It is the API server's own code without the server around it.
type admitter struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	cel        *cel.Validator
}

func internalCRD(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	defaulted := crd.DeepCopy()
	scheme.Default(defaulted)
	out := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(defaulted, out, nil); err != nil {
		t.Fatal(err)
	}
	out.Status.StoredVersions = []string{"v1alpha1"}
	return out
}

func newAdmitter(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) admitter {
	t.Helper()
	internal := internalCRD(t, crd)
	props := internal.Spec.Validation
	if props == nil {
		props = internal.Spec.Versions[0].Schema
	}
	structural, err := schema.NewStructural(props.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(props.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return admitter{
		structural: structural,
		validator:  validator,
		cel:        cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}
}

// admit returns what is wrong with an object, or with its update if old is given. The
// object gets its defaults.
func (a admitter) admit(ctx context.Context, object, old map[string]any) field.ErrorList {
	defaulting.Default(object, a.structural)
	var errs field.ErrorList
	for _, path := range pruning.PruneWithOptions(runtime.DeepCopyJSON(object), a.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		errs = append(errs, field.Forbidden(field.NewPath(path), "unknown field"))
	}
	var oldObject any
	if old == nil {
		errs = append(errs, validation.ValidateCustomResource(nil, object, a.validator)...)
	} else {
		oldObject = old
		errs = append(errs, validation.ValidateCustomResourceUpdate(nil, object, old, a.validator)...)
	}
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, a.structural, object)...)
	if len(errs) > 0 {
		return errs
	}
	celErrs, _ := a.cel.Validate(ctx, nil, a.structural, object, oldObject, celconfig.RuntimeCELCostBudget)
	return celErrs
}

// admitManifest admits a manifest, as an update of old if that is not empty.
func admitManifest(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, manifest, old string) field.ErrorList {
	t.Helper()
	a := newAdmitter(t, crd)
	if old == "" {
		return a.admit(t.Context(), parse(t, manifest), nil)
	}
	before := parse(t, old)
	if errs := a.admit(t.Context(), before, nil); len(errs) > 0 {
		t.Fatalf("the object before the update: %v", errs.ToAggregate())
	}
	return a.admit(t.Context(), parse(t, manifest), before)
}

func parse(t *testing.T, manifest string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{}
	// The API server's decoder: whole numbers are int64.
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestCRDsAreValid runs the checks of the API server on the CRDs themselves. They are
// strict about what only shows at install time: structural schemas, CEL that compiles,
// and CEL whose estimated cost is within bounds.
func TestCRDsAreValid(t *testing.T) {
	for kind, crd := range loadCRDs(t) {
		for _, err := range crdvalidation.ValidateCustomResourceDefinition(t.Context(), internalCRD(t, crd)) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestSamplesAreValidAndComplete(t *testing.T) {
	crds := loadCRDs(t)
	samples, err := Samples()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, sample := range samples {
		crd, ok := crds[sample.GetKind()]
		if !ok {
			if sample.GroupVersionKind().Group != "" {
				t.Errorf("%s %s: no such kind", sample.GroupVersionKind(), sample.GetName())
			}
			continue
		}
		seen[sample.GetKind()] = true
		if namespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped; namespaced != (sample.GetNamespace() != "") {
			t.Errorf("%s %s: namespace %q does not fit its scope", sample.GetKind(), sample.GetName(), sample.GetNamespace())
		}
		for _, err := range newAdmitter(t, crd).admit(t.Context(), sample.Object, nil) {
			t.Errorf("%s %s: %v", sample.GetKind(), sample.GetName(), err)
		}
	}
	for kind := range crds {
		if !seen[kind] {
			t.Errorf("%s: no sample", kind)
		}
	}
}

// refusedAt returns nil if one of the errors is at the path and has the text.
func refusedAt(errs field.ErrorList, path, text string) error {
	if len(errs) == 0 {
		return fmt.Errorf("admitted, want it refused at %s", path)
	}
	if slices.ContainsFunc(errs, func(e *field.Error) bool {
		return e.Field == path && strings.Contains(e.Error(), text)
	}) {
		return nil
	}
	return fmt.Errorf("want it refused at %s with %q, got %v", path, text, errs.ToAggregate())
}
