package admission_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/farrier-dev/farrier/api"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/admission"
	"github.com/farrier-dev/farrier/internal/admission/admissiontest"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

// alone is the rules without an API server around them.
type alone struct {
	*admission.Rules
	store client.Client
	count int
}

// indexer lets the indexes of the product be registered with the fake.
type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, value client.IndexerFunc) error {
	i.WithIndex(obj, field, value)
	return nil
}

func newAlone(t *testing.T) *alone {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	if err := index.Register(t.Context(), indexer{builder}); err != nil {
		t.Fatal(err)
	}
	store := builder.Build()
	return &alone{Rules: &admission.Rules{
		ManagerNamespace: admissiontest.ManagerNamespace, Cached: store, Live: store, Assignments: admission.NewAssignments(),
	}, store: store}
}

func (a *alone) Namespace(t *testing.T) string {
	t.Helper()
	a.count++
	name := fmt.Sprintf("test-%d", a.count)
	a.Give(t, admissiontest.Parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}"))
	return name
}

func (a *alone) Give(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	if err := a.store.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	var stored ipxev1.Assignment
	if object.GetKind() == "Assignment" {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &stored); err != nil {
			t.Fatal(err)
		}
		a.Assignments.Put(&stored)
	}
}

func (a *alone) Delete(t *testing.T, object *unstructured.Unstructured) admissiontest.Outcome {
	t.Helper()
	verdict, err := a.Validate(t.Context(), admission.Request{
		Kind: object.GroupVersionKind().GroupKind(), Namespace: object.GetNamespace(), Name: object.GetName(), Old: object,
	})
	if err != nil || !verdict.Allowed() {
		t.Fatal(verdict, err)
	}
	return admissiontest.Outcome{Warnings: verdict.Warnings, Object: object}
}

func (a *alone) Request(t *testing.T, object, old *unstructured.Unstructured) admissiontest.Outcome {
	t.Helper()
	request := admission.Request{
		Kind: object.GroupVersionKind().GroupKind(), Namespace: object.GetNamespace(), Name: object.GetName(), Object: object, Old: old,
	}
	before := object.DeepCopy()
	verdict, err := a.Validate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(before, object) {
		t.Error("a rule changed the object")
	}
	outcome := admissiontest.Outcome{Warnings: verdict.Warnings, Object: object}
	for _, wrong := range verdict.Errors {
		outcome.Causes = append(outcome.Causes, wrong.Field+": "+wrong.ErrorBody())
	}
	return outcome
}

func TestRules(t *testing.T) { admissiontest.Run(t, newAlone(t)) }
