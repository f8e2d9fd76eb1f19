package admissiontest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// ManagerNamespace is the manager's namespace in all cases.
const ManagerNamespace = "farrier-system"

// Outcome is what a request led to.
type Outcome struct {
	// Causes say what is wrong, "<path of the field>: <what>" each; none if the request was admitted.
	Causes, Warnings []string
	// Object is what would be stored.
	Object *unstructured.Unstructured
}

// Shell is where the rules run.
type Shell interface {
	// Namespace makes a namespace.
	Namespace(t *testing.T) string
	// Give stores an object that has to be admitted.
	Give(t *testing.T, object *unstructured.Unstructured)
	// Request asks for an object to be stored, in place of old if there is one.
	Request(t *testing.T, object, old *unstructured.Unstructured) Outcome
	// Delete asks for a stored object to be deleted.
	Delete(t *testing.T, object *unstructured.Unstructured) Outcome
}

// Run holds a shell to Cases.
func Run(t *testing.T, shell Shell) {
	for i, c := range Cases {
		t.Run(c.Name, func(t *testing.T) {
			fill := strings.NewReplacer("$ns", shell.Namespace(t), "$n", fmt.Sprintf("%02x", i)).Replace
			for _, given := range c.Given {
				shell.Give(t, Parse(t, fill(given)))
			}
			var old *unstructured.Unstructured
			if c.Old != "" {
				old = Parse(t, fill(c.Old))
				shell.Give(t, old)
			}
			var outcome Outcome
			if object := Parse(t, fill(c.Object)); c.Deleted {
				shell.Give(t, object)
				outcome = shell.Delete(t, object)
			} else {
				outcome = shell.Request(t, object, old)
			}
			if c.Refused == "" && len(outcome.Causes) > 0 {
				t.Errorf("refused: %q", outcome.Causes)
			}
			if c.Refused != "" && !slices.ContainsFunc(outcome.Causes, func(cause string) bool {
				return strings.HasPrefix(cause, c.Refused+": ") && strings.Contains(cause, fill(c.Text))
			}) {
				t.Errorf("want it refused at %s with %q, got %q", c.Refused, fill(c.Text), outcome.Causes)
			}
			if len(outcome.Warnings) != len(c.Warnings) {
				t.Errorf("%d warnings, want %d: %q", len(outcome.Warnings), len(c.Warnings), outcome.Warnings)
			}
			for _, want := range c.Warnings {
				if !slices.ContainsFunc(outcome.Warnings, func(got string) bool { return strings.Contains(got, fill(want)) }) {
					t.Errorf("no warning of %q in %q", fill(want), outcome.Warnings)
				}
			}
		})
	}
}

// Parse reads a manifest.
func Parse(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatalf("%v:\n%s", err, manifest)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		t.Fatalf("%v:\n%s", err, manifest)
	}
	return object
}
