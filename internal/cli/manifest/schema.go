package manifest

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/farrier-dev/farrier/config"
)

// schemas are those of the CRDs that this program was built with.
type schemas struct {
	crds map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition
}

func readSchemas() (*schemas, error) {
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	s := &schemas{crds: make(map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition, len(crds))}
	for _, crd := range crds {
		s.crds[schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}] = crd
	}
	return s, nil
}

// hasGroup reports whether an API group is one of Farrier's.
func (s *schemas) hasGroup(group string) bool {
	for gk := range s.crds {
		if gk.Group == group {
			return true
		}
	}
	return false
}

// check gives an object its defaults, and says what the schema of its kind refuses.
func (s *schemas) check(ctx context.Context, gvk schema.GroupVersionKind, object map[string]any) (field.ErrorList, error) {
	var props apiextensions.JSONSchemaProps
	for _, version := range s.crds[gvk.GroupKind()].Spec.Versions {
		if version.Name != gvk.Version {
			continue
		}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", gvk.Kind, err)
		}
	}
	structural, err := structuralschema.NewStructural(&props)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", gvk.Kind, err)
	}
	validator, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", gvk.Kind, err)
	}
	defaulting.Default(object, structural)
	errs := validation.ValidateCustomResource(nil, object, validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, structural, object)...)
	if len(errs) > 0 {
		return errs, nil // CEL takes objects of the right shape for granted
	}
	errs, _ = cel.NewValidator(structural, true, celconfig.PerCallLimit).Validate(ctx, nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
	return errs, nil
}
