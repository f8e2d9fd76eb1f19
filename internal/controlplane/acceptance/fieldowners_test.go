package acceptance

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

// TestWhoSetFieldsIsNotRecordedOfWhatControllersMake uses the name that testapi/apiserver gives the plugin of fieldowners.go.
func TestWhoSetFieldsIsNotRecordedOfWhatControllersMake(t *testing.T) {
	client := clientset(t, testapi.Start(t))
	objects := client.CoreV1().ConfigMaps(testapi.Namespace(t))
	ours, people := metav1.CreateOptions{FieldManager: metalv1.FieldManager}, metav1.CreateOptions{FieldManager: "kubectl-create"}

	filled := func(name string) *v1.ConfigMap {
		object := configMap(name)
		object.Data = map[string]string{"a": "0"}
		return object
	}
	made, err := objects.Create(t.Context(), filled("theirs"), people)
	if err != nil || len(made.ManagedFields) != 1 {
		t.Fatalf("made by people: %v, error %v", made.ManagedFields, err)
	}
	if made, err = objects.Create(t.Context(), filled("ours"), ours); err != nil || len(made.ManagedFields) != 0 {
		t.Fatalf("made by a controller: %v, error %v", made.ManagedFields, err)
	}
	patched, err := objects.Patch(t.Context(), "ours", types.MergePatchType, []byte(`{"data":{"a":"1","b":"1"}}`), metav1.PatchOptions{FieldManager: "kubectl-patch"})
	if err != nil || len(patched.ManagedFields) != 0 {
		t.Fatalf("changed later: %v, error %v", patched.ManagedFields, err)
	}

	// Whoever applies finds what was there in nobody's hands: another value is a conflict, and can be forced.
	applied := corev1.ConfigMap("ours", patched.Namespace).WithData(map[string]string{"a": "2"})
	if _, err := objects.Apply(t.Context(), applied, metav1.ApplyOptions{FieldManager: "people"}); !apierrors.IsConflict(err) {
		t.Errorf("applying another value: %v, want a conflict", err)
	}
	got, err := objects.Apply(t.Context(), applied, metav1.ApplyOptions{FieldManager: "people", Force: true})
	if err != nil || got.Data["a"] != "2" || got.Data["b"] != "1" {
		t.Fatalf("forced: %v, error %v", got.Data, err)
	}
	// From then on the record is kept, and what is no longer applied goes.
	applied.Data = map[string]string{"c": "3"}
	got, err = objects.Apply(t.Context(), applied, metav1.ApplyOptions{FieldManager: "people"})
	if err != nil || got.Data["a"] != "" || got.Data["b"] != "1" || got.Data["c"] != "3" {
		t.Errorf("applied again: %v, error %v", got.Data, err)
	}
	if made, err = objects.Apply(t.Context(), corev1.ConfigMap("applied", patched.Namespace).WithData(map[string]string{"a": "1"}),
		metav1.ApplyOptions{FieldManager: metalv1.FieldManager}); err != nil || len(made.ManagedFields) != 1 {
		t.Errorf("made by applying it: %v, error %v", made.ManagedFields, err)
	}
}
