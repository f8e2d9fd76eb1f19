package controllertest

import (
	"math/rand/v2"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Scramble replaces the messages of all conditions of an object by random words. No decision may depend on one, so everything else has to
// become what it would have been. What it writes is not among the Writes.
func Scramble[T any, P interface {
	*T
	client.Object
}](t testing.TB, a *API, name string, random *rand.Rand) {
	t.Helper()
	obj := P(new(T))
	if err := a.store.Get(t.Context(), Key(name), obj); client.IgnoreNotFound(err) != nil {
		t.Fatalf("scramble %s: %v", name, err)
	} else if err != nil {
		return
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatalf("scramble %s: %v", name, err)
	}
	conditions, _, err := unstructured.NestedSlice(content, "status", "conditions")
	if err != nil || len(conditions) == 0 {
		return
	}
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			condition["message"] = "words " + strconv.FormatUint(random.Uint64(), 36)
		}
	}
	if err := unstructured.SetNestedSlice(content, conditions, "status", "conditions"); err != nil {
		t.Fatalf("scramble %s: %v", name, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, obj); err != nil {
		t.Fatalf("scramble %s: %v", name, err)
	}
	if err := a.store.Status().Update(t.Context(), obj); err != nil {
		t.Fatalf("scramble %s: %v", name, err)
	}
}

// Typed is a list of conditions without what is for people, in their order, and without times.
func Typed(conditions []metav1.Condition) []string {
	var all []string
	for _, c := range conditions {
		all = append(all, c.Type+" "+string(c.Status)+" "+c.Reason)
	}
	return all
}
