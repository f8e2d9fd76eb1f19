package config

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func loadCRDs(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range crds {
		out[crd.Spec.Names.Kind] = crd
	}
	return out
}

// withoutConditionFields splits off the elements of lists of conditions, which are the
// same everywhere: it returns the rest, and per list its elements.
func withoutConditionFields(d definition) (definition, map[string]map[string]listedField) {
	rest := d
	rest.fields = map[string]listedField{}
	conditions := map[string]map[string]listedField{}
	for path, f := range d.fields {
		list, name, ok := strings.Cut(path, "conditions[].")
		if !ok || !strings.HasPrefix(path, "status.") { // a rule's own conditions are no metav1.Condition
			rest.fields[path] = f
			continue
		}
		if conditions[list] == nil {
			conditions[list] = map[string]listedField{}
		}
		conditions[list][name] = f
	}
	return rest, conditions
}

func TestCRDsHoldTheContract(t *testing.T) {
	crds := loadCRDs(t)
	want := contract(t)
	condition := readFieldList(t, "condition-fields.txt")["Condition"]

	kinds := slices.Sorted(maps.Keys(want))
	if got := slices.Sorted(maps.Keys(crds)); !slices.Equal(kinds, got) {
		t.Errorf("kinds: want %v, got %v", kinds, got)
	}
	for _, kind := range kinds {
		crd, ok := crds[kind]
		if !ok {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			got, conditions := withoutConditionFields(flatten(crd))
			for _, difference := range differences(want[kind], got) {
				t.Error(difference)
			}
			for list, fields := range conditions {
				for _, difference := range differences(definition{fields: condition.fields}, definition{fields: fields}) {
					t.Errorf("%sconditions[]: %s", list, difference)
				}
			}
		})
	}
}

func TestCRDsServeOneVersionWithItsStatusApart(t *testing.T) {
	for kind, crd := range loadCRDs(t) {
		if n := len(crd.Spec.Versions); n != 1 {
			t.Errorf("%s: %d versions, want 1", kind, n)
			continue
		}
		version := crd.Spec.Versions[0]
		if version.Name != "v1alpha1" || !version.Served || !version.Storage {
			t.Errorf("%s: version %s served %t stored %t, want v1alpha1, served and stored", kind, version.Name, version.Served, version.Storage)
		}
		_, hasStatus := version.Schema.OpenAPIV3Schema.Properties["status"]
		subresource := version.Subresources != nil && version.Subresources.Status != nil
		if hasStatus != subresource {
			t.Errorf("%s: has a status %t, has the subresource %t", kind, hasStatus, subresource)
		}
		if crd.Spec.Names.ListKind != kind+"List" || crd.Spec.Names.Singular != strings.ToLower(kind) {
			t.Errorf("%s: list kind %s, singular %s", kind, crd.Spec.Names.ListKind, crd.Spec.Names.Singular)
		}
	}
}

// TestDifferencesAreSeen breaks a CRD in each way that the contract test must notice.
func TestDifferencesAreSeen(t *testing.T) {
	spec := func(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
		props := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		return &props
	}
	set := func(crd *apiextensionsv1.CustomResourceDefinition, s apiextensionsv1.JSONSchemaProps) {
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = s
	}
	change := func(name string, how func(*apiextensionsv1.JSONSchemaProps)) func(*apiextensionsv1.CustomResourceDefinition) {
		return func(crd *apiextensionsv1.CustomResourceDefinition) {
			property := spec(crd).Properties[name]
			how(&property)
			spec(crd).Properties[name] = property
		}
	}
	always := true
	for name, breakIt := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"missing field": func(crd *apiextensionsv1.CustomResourceDefinition) { delete(spec(crd).Properties, "hostname") },
		"unexpected field": func(crd *apiextensionsv1.CustomResourceDefinition) {
			spec(crd).Properties["host"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		},
		"type":          change("hostname", func(s *apiextensionsv1.JSONSchemaProps) { s.Type = "integer" }),
		"default":       change("hostname", func(s *apiextensionsv1.JSONSchemaProps) { s.Default = &apiextensionsv1.JSON{Raw: []byte(`"x"`)} }),
		"enum":          change("hostname", func(s *apiextensionsv1.JSONSchemaProps) { s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"x"`)}} }),
		"map type":      change("endpointRef", func(s *apiextensionsv1.JSONSchemaProps) { s.XMapType = nil }),
		"CEL rule":      change("access", func(s *apiextensionsv1.JSONSchemaProps) { s.XValidations[0].Rule = "true" }),
		"CEL message":   change("access", func(s *apiextensionsv1.JSONSchemaProps) { s.XValidations[0].Message = "no" }),
		"unlisted rule": change("protocol", func(s *apiextensionsv1.JSONSchemaProps) { s.XPreserveUnknownFields = &always }),
		"required":      func(crd *apiextensionsv1.CustomResourceDefinition) { s := *spec(crd); s.Required = nil; set(crd, s) },
		"short name":    func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Names.ShortNames = []string{"b"} },
		"scope":         func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Scope = apiextensionsv1.NamespaceScoped },
		"plural":        func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Names.Plural = "bmces" },
		"column": func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].AdditionalPrinterColumns[3].Priority = 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			crd := loadCRDs(t)["BMC"]
			breakIt(crd)
			got, _ := withoutConditionFields(flatten(crd))
			if len(differences(contract(t)["BMC"], got)) == 0 {
				t.Error("not noticed")
			}
		})
	}
}
