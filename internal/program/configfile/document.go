package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// maxFile is far more than all flags of a command need.
const maxFile = 1 << 20

// setting is one key of the file with its value.
type setting struct {
	key   string
	line  int
	value *yaml.Node
}

// parse returns the keys of a document in their order, and what is wrong with the document whatever the flags are. An empty document
// has no keys.
func parse(content []byte) (settings []setting, problems []error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, []error{err}
	}
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, []error{fmt.Errorf("line %d: a second document begins here; put all keys into one", second.Line)}
	case !errors.Is(err, io.EOF):
		return nil, []error{err}
	}
	root := document.Content[0]
	switch {
	case root.ShortTag() == nullTag:
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, []error{fmt.Errorf("line %d: want keys and values, such as %q", root.Line, "power-off-budget: 10m")}
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		first, twice := lines[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode:
			problems = append(problems, fmt.Errorf("line %d: a key has to be the name of a flag", key.Line))
		case twice:
			problems = append(problems, fmt.Errorf("line %d: key %q: is on line %d already", key.Line, key.Value, first))
		default:
			lines[key.Value] = key.Line
			settings = append(settings, setting{key: key.Value, line: key.Line, value: value})
		}
	}
	return settings, problems
}
