package fault

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a file of faults.
const maxFile = 1 << 20

// specKeys are the keys of a Spec in YAML. A misspelt one is an error: it would
// be a fault that strikes otherwise than was meant.
var specKeys = []string{"kind", "bmcs", "share", "path", "chance", "value", "after", "for"}

// Load reads a file of faults:
//
//	faults:
//	  - kind: hang
//	    share: 0.01
//
// Errors name the file, the line and the key.
func Load(path string) ([]Spec, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("faults: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("faults: %s: %w", path, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("faults: %s: larger than %d bytes", path, maxFile)
	}
	specs, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("faults: %s: %w", path, err)
	}
	return specs, nil
}

// Parse reads faults in YAML. Errors name line and key; all of them are told.
func Parse(data []byte) ([]Spec, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	list, err := faultList(document.Content[0])
	if err != nil {
		return nil, err
	}
	var specs []Spec
	var errs []error
	for i, node := range list {
		spec, err := parseSpec(node)
		if err != nil {
			errs = append(errs, fmt.Errorf("faults[%d]: %w", i, err))
			continue
		}
		specs = append(specs, spec)
	}
	return specs, errors.Join(errs...)
}

func faultList(root *yaml.Node) ([]*yaml.Node, error) {
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: want a mapping with the key faults", root.Line)
	}
	var list []*yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		switch {
		case key.Value != "faults":
			return nil, fmt.Errorf("line %d: key %q is not known", key.Line, key.Value)
		case value.Kind == yaml.SequenceNode:
			list = value.Content
		case value.Tag != "!!null":
			return nil, fmt.Errorf("line %d: key faults: want a list", value.Line)
		}
	}
	return list, nil
}

func parseSpec(node *yaml.Node) (Spec, error) {
	var spec Spec
	if node.Kind != yaml.MappingNode {
		return spec, fmt.Errorf("line %d: want a mapping", node.Line)
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if !slices.Contains(specKeys, key.Value) {
			return spec, fmt.Errorf("line %d: key %q is not known", key.Line, key.Value)
		}
		if _, twice := lines[key.Value]; twice {
			return spec, fmt.Errorf("line %d: key %q is there twice", key.Line, key.Value)
		}
		lines[key.Value] = value.Line
		one := yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{key, value}}
		if err := one.Decode(&spec); err != nil {
			return spec, fmt.Errorf("line %d: key %q: %w", value.Line, key.Value, withoutPreamble(err))
		}
	}
	if err := spec.Check(); err != nil {
		line, key := node.Line, ""
		if field := (*FieldError)(nil); errors.As(err, &field) {
			key, err = field.Field, field.Err
			if l, ok := lines[key]; ok {
				line = l
			}
		}
		return spec, fmt.Errorf("line %d: key %q: %w", line, key, err)
	}
	return spec, nil
}

// withoutPreamble takes the heading off an error that is about one value only.
func withoutPreamble(err error) error {
	if typeErr := (*yaml.TypeError)(nil); errors.As(err, &typeErr) && len(typeErr.Errors) > 0 {
		return errors.New(typeErr.Errors[0])
	}
	return err
}
