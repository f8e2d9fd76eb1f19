package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	kjson "sigs.k8s.io/json"
)

// decode reads JSON. Its error names every field that is not known, since it means something that would be lost, or the field whose value is of
// another type.
func decode(document []byte, into any) error {
	unknown, err := kjson.UnmarshalStrict(document, into)
	if err == nil {
		return joined(unknown)
	}
	// The standard library tells the path of such a field in an error that others can read.
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(json.Unmarshal(document, into), &wrong) && wrong.Field != "" {
		return fmt.Errorf("%s: it is %s, want %s", wrong.Field, cmp.Or(written[wrong.Value], wrong.Value), kindOf(wrong.Type))
	}
	return err
}

// written are the words of encoding/json for what stands in a document.
var written = map[string]string{"array": "a list", "object": "an object", "string": "text", "bool": "true or false", "number": "a number"}

func joined(problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.Error()
	}
	return errors.New(strings.Join(texts, ", "))
}

// kindOf says in words of JSON what a Go type is read from.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Pointer:
		return kindOf(t.Elem())
	}
	return "a number"
}
