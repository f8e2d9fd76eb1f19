package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// faulty are the fields that a request is refused for.
func faulty(now, before map[string]any) []string {
	c := &check{Request: Request{Object: &unstructured.Unstructured{Object: now}}}
	if before != nil {
		c.Old = &unstructured.Unstructured{Object: before}
	}
	c.references()
	var fields []string
	for _, err := range c.verdict.Errors {
		fields = append(fields, err.Field)
	}
	return fields
}

func spec(content map[string]any) map[string]any { return map[string]any{"spec": content} }

func TestNamesAreLookedForWhereverTheyStand(t *testing.T) {
	bad := map[string]any{"name": "../x", "namespace": "A"}
	deep := spec(map[string]any{
		"profileName": "a/b",
		"serverRef":   bad,
		"additionalContent": []any{
			map[string]any{"webhook": map[string]any{"mtls": map[string]any{"secretRef": map[string]any{"name": "x/y"}}}},
			map[string]any{"secretRef": map[string]any{"name": "good", "namespace": "good", "key": "any/key"}},
		},
		"name": "not/a/reference", "image": "registry/os:1",
	})
	want := []string{"spec.additionalContent[0].webhook.mtls.secretRef.name", "spec.profileName", "spec.serverRef.name", "spec.serverRef.namespace"}
	if diff := cmp.Diff(want, faulty(deep, nil)); diff != "" {
		t.Error(diff)
	}
	if got := faulty(deep, deep); got != nil {
		t.Errorf("what was stored before is refused for %v", got)
	}
	for _, odd := range []map[string]any{nil, {"spec": "text"}, spec(map[string]any{"aRef": "text", "bRef": []any{1, nil}, "cRef": map[string]any{"name": 1, "namespace": nil}})} {
		if got := faulty(odd, odd); got != nil {
			t.Errorf("%v: refused for %v", odd, got)
		}
	}
}

// TestNamesOfObjectsArePassed also holds the opposite: what is let through can stand in the path of a request.
func TestNamesOfObjectsArePassed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		good := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?)?`).Draw(t, "good")
		anything := rapid.String().Draw(t, "anything")
		if got := faulty(spec(map[string]any{"serverRef": map[string]any{"name": good}}), nil); got != nil {
			t.Fatalf("%q is refused", good)
		}
		if got := faulty(spec(map[string]any{"serverRef": map[string]any{"name": anything}}), nil); got == nil && strings.ContainsAny(anything, "/%\x00 ") {
			t.Fatalf("%q is let through", anything)
		}
	})
}
