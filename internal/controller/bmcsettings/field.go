package bmcsettings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// maxDepth bounds the steps of a path.
const maxDepth = 16

// changing are fields that every write of ours changes: a setting with one of them would never be applied.
var changing = []string{"metadata.resourceVersion", "metadata.generation", "metadata.managedFields", "metadata.annotations.farrier.dev/", "status"}

// ownField is the text of a field of the object itself.
func ownField(obj client.Object, path string) (string, error) {
	steps, err := stepsOf(path)
	if err != nil {
		return "", err
	}
	joined := strings.Join(steps, ".")
	for _, prefix := range changing {
		if strings.HasPrefix(joined, prefix) {
			return "", reconcileerror.Terminalf(reasonInvalidFieldPath, "field %q changes while the settings are applied", shown(path))
		}
	}
	return fieldOf(obj, path)
}

// fieldOf is the text of a field: of a string, a number or a boolean.
func fieldOf(obj client.Object, path string) (string, error) {
	steps, err := stepsOf(path)
	if err != nil {
		return "", err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return "", fmt.Errorf("field %q: %w", shown(path), err)
	}
	var at any = content
	for _, step := range steps {
		switch now := at.(type) {
		case map[string]any:
			at = now[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(now) {
				at = nil
			} else {
				at = now[i]
			}
		default:
			at = nil
		}
	}
	switch at.(type) {
	case nil:
		return "", reconcileerror.Terminalf(reasonFieldMissing, "there is no field %q", shown(path))
	case map[string]any, []any:
		return "", reconcileerror.Terminalf(reasonInvalidFieldPath, "field %q is no single value", shown(path))
	}
	return fmt.Sprint(at), nil
}

// stepsOf reads a path such as metadata.labels['a.b/c'] or status.conditions[0].reason.
func stepsOf(path string) ([]string, error) {
	var steps []string
	invalid := func() ([]string, error) {
		return nil, reconcileerror.Terminalf(reasonInvalidFieldPath, "%q is no path of a field, such as metadata.labels['rack'] or spec.BMCRef.name", shown(path))
	}
	for rest := strings.TrimPrefix(path, "."); rest != ""; {
		if strings.HasPrefix(rest, "[") {
			end := strings.IndexByte(rest, ']')
			if end < 2 {
				return invalid()
			}
			step := rest[1:end]
			if quoted := len(step) > 2 && (step[0] == '\'' || step[0] == '"') && step[len(step)-1] == step[0]; quoted {
				step = step[1 : len(step)-1]
			} else if _, err := strconv.Atoi(step); err != nil {
				return invalid()
			}
			steps, rest = append(steps, step), strings.TrimPrefix(rest[end+1:], ".")
			continue
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		steps = append(steps, rest[:end])
		rest = strings.TrimPrefix(rest[end:], ".")
	}
	if len(steps) == 0 || len(steps) > maxDepth || slices.Contains(steps, "") {
		return invalid()
	}
	return steps, nil
}
