package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Samples returns the sample objects: a machine's whole way and one of every kind. Files
// are in the order of their names and objects in the order of their file, so that applying
// them in this order finds every namespace in place.
func Samples() ([]*unstructured.Unstructured, error) { return objects(samples, "samples") }

// Examples returns claims of operating systems, with what their machines read first. docs/discovery-image.md says how their images are packed.
func Examples() ([]*unstructured.Unstructured, error) { return objects(examples, "examples") }

// Manager returns what farrier-manager needs in a cluster besides the CustomResourceDefinitions: its namespace, its
// service account and what that may do, in an order in which they can be applied.
func Manager() ([]*unstructured.Unstructured, error) { return objects(manager, "manager") }

// Tenant returns what an operator applies to have tenants: the role of one, the policy that says which servers he may claim, and a sample of
// one, in an order in which they can be applied.
func Tenant() ([]*unstructured.Unstructured, error) { return objects(tenant, "tenant") }

// objects reads all files of a folder.
func objects(from fs.FS, folder string) ([]*unstructured.Unstructured, error) {
	names, err := fs.Glob(from, folder+"/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the embedded %s: %w", folder, err)
	}
	var out []*unstructured.Unstructured
	for _, name := range names {
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		objects, err := decode(data)
		if err != nil {
			return nil, fmt.Errorf("parsing %s: %w", name, err)
		}
		out = append(out, objects...)
	}
	return out, nil
}

func decode(data []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data)+1)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			out = append(out, object)
		}
	}
}
