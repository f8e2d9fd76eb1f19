package admission

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// maxWarning is how long a warning may be before clients cut it off (k8s.io/apiserver, endpoints/filters/warning.go).
const maxWarning = 256

// check is what a rule has to work with beside the object: the request, the installation, and where it leaves its verdict.
type check struct {
	Request
	*Rules
	verdict Verdict
	// holds are the values by which the object is found once it is admitted.
	holds []held
	// assigns is the Assignment as it is once it is admitted.
	assigns *assignment.Assignment
}

func (c *check) refuse(errs ...*field.Error) {
	c.verdict.Errors = append(c.verdict.Errors, errs...)
}

// warn adds a warning that begins with the path of the field it is about.
func (c *check) warn(path *field.Path, format string, args ...any) {
	c.verdict.Warnings = append(c.verdict.Warnings, warning(path.String()+": "+fmt.Sprintf(format, args...)))
}

// warning makes text fit for the Warning header (RFC 7234 §5.5): one line, and not longer than is shown.
func warning(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > maxWarning {
		text = strings.ToValidUTF8(text[:maxWarning-len("…")], "") + "…"
	}
	return text
}

// annotation is the path of an annotation.
func annotation(key string) *field.Path {
	return field.NewPath("metadata", "annotations").Key(key)
}

// annotated returns an annotation that the request sets or changes.
func annotated(now, before client.Object, key string) (string, bool) {
	value, set := now.GetAnnotations()[key]
	if !set {
		return "", false
	}
	was, had := before.GetAnnotations()[key]
	return value, !had || was != value
}

// rule judges a request.
type rule func(ctx context.Context, c *check) error

// object is a pointer to a kind.
type object[T any] interface {
	*T
	client.Object
}

// of makes a rule of one that is about a kind. Before is an empty object when there was none: what is set differs from it.
func of[T any, P object[T]](judge func(ctx context.Context, c *check, now, before P) error) rule {
	return func(ctx context.Context, c *check) error {
		now, before := P(new(T)), P(new(T))
		if !decode(c.Object, now) || !decode(c.Old, before) {
			return nil // not of this kind's shape, as its schema says better
		}
		return judge(ctx, c, now, before)
	}
}

// decode reads all of an object but what rules do not look at and what is the greater part of it: status, and who manages which field.
func decode(from *unstructured.Unstructured, into client.Object) bool {
	if from == nil {
		return true
	}
	content := make(map[string]any, len(from.Object))
	for key, value := range from.Object {
		if key != "status" {
			content[key] = value
		}
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		kept := make(map[string]any, len(metadata))
		for key, value := range metadata {
			if key != "managedFields" {
				kept[key] = value
			}
		}
		content["metadata"] = kept
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content, into) == nil
}
