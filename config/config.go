package config

import (
	"embed"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed crd/*.yaml
var crds embed.FS

//go:embed manager/*.yaml
var manager embed.FS

//go:embed tenant/*.yaml
var tenant embed.FS

//go:embed samples/*.yaml
var samples embed.FS

//go:embed examples/*.yaml
var examples embed.FS

// CRDs returns the CustomResourceDefinitions of all kinds, in the order of their file names.
// The objects are the caller's own.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(crds, "crd/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the embedded CRDs: %w", err)
	}
	out := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(names))
	for _, name := range names {
		data, err := crds.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			return nil, fmt.Errorf("parsing %s: %w", name, err)
		}
		out = append(out, crd)
	}
	return out, nil
}
