package move

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/farrier-dev/farrier/config"
)

// ofOthers are the references to kinds that move anyway.
var ofOthers = []string{
	"bmcRef", "bmcSecretRef", "bmcSettingsRef", "biosSettingsRef", "endpointRef", "serverRef", "serverClaimRef", "serverMaintenanceRef", "bootConfigurationRef",
	"maintenanceBootConfigurationRef", "BMCRef", "fieldRef", "objectFieldRef",
}

// TestEveryReferenceIsKnown: a new field that names a Secret would leave the Secret behind.
func TestEveryReferenceIsKnown(t *testing.T) {
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var walk func(where string, schema *apiextensionsv1.JSONSchemaProps)
	walk = func(where string, schema *apiextensionsv1.JSONSchemaProps) {
		for name, field := range schema.Properties {
			seen[name] = true
			_, known := referring[name]
			if strings.HasSuffix(name, "Ref") && !known && !slices.Contains(flexible, name) && !slices.Contains(ofOthers, name) {
				t.Errorf("%s.%s: does it name a Secret or a ConfigMap? Then refs.go has to know it", where, name)
			}
			walk(where+"."+name, &field)
		}
		if schema.Items != nil && schema.Items.Schema != nil {
			walk(where+"[]", schema.Items.Schema)
		}
	}
	for _, crd := range crds {
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		if spec, has := schema.Properties["spec"]; has {
			walk(crd.Spec.Names.Kind+".spec", &spec)
		}
	}
	for name := range referring {
		if !seen[name] {
			t.Errorf("no kind has a field %s", name)
		}
	}
}
