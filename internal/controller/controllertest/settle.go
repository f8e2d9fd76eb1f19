package controllertest

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// tooMany is how often an object may be reconciled before it is said to never settle.
const tooMany = 30

// Key is the key of "name" or of "namespace/name".
func Key(name string) client.ObjectKey {
	if namespace, rest, namespaced := strings.Cut(name, "/"); namespaced {
		return client.ObjectKey{Namespace: namespace, Name: rest}
	}
	return client.ObjectKey{Name: name}
}

// Step reconciles one object once.
func (a *API) Step(t testing.TB, r reconcile.Reconciler, name string) reconcile.Result {
	t.Helper()
	ctx := t.Context()
	if a.Logger.GetSink() != nil {
		ctx = log.IntoContext(ctx, a.Logger.WithValues("object", name))
	}
	result, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: Key(name)})
	if err != nil {
		t.Fatalf("reconcile %s: %v", name, err)
	}
	return result
}

// Settle reconciles one object until a reconcile writes nothing: what a controller's own writes
// wake it for has been done then. It returns the last result.
func (a *API) Settle(t testing.TB, r reconcile.Reconciler, name string) reconcile.Result {
	t.Helper()
	for range tooMany {
		before := a.written()
		result := a.Step(t, r, name)
		if a.written() == before {
			return result
		}
	}
	t.Fatalf("%s does not settle; last writes: %v", name, a.Writes("")[len(a.Writes(""))-5:])
	return reconcile.Result{}
}

// Read returns the object of that name as it is stored.
func Read[T any, P interface {
	*T
	client.Object
}](t testing.TB, a *API, name string) P {
	t.Helper()
	obj := P(new(T))
	if err := a.read(t.Context(), Key(name), obj); err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return obj
}

// Gone says that there is no such object.
func Gone[T any, P interface {
	*T
	client.Object
}](t testing.TB, a *API, name string) bool {
	t.Helper()
	err := a.read(t.Context(), Key(name), P(new(T)))
	if client.IgnoreNotFound(err) != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return apierrors.IsNotFound(err)
}

// Change changes an object as a person does who is not in anybody's way.
func Change[T any, P interface {
	*T
	client.Object
}](t testing.TB, a *API, name string, change func(P)) P {
	t.Helper()
	obj := Read[T, P](t, a, name)
	before := obj.DeepCopyObject().(client.Object)
	change(obj)
	if err := a.WithWatch.Patch(t.Context(), obj, client.MergeFrom(before)); err != nil {
		t.Fatalf("change %s: %v", name, err)
	}
	return obj
}

// ChangeStatus changes an object's status.
func ChangeStatus[T any, P interface {
	*T
	client.Object
}](t testing.TB, a *API, name string, change func(P)) P {
	t.Helper()
	obj := Read[T, P](t, a, name)
	before := obj.DeepCopyObject().(client.Object)
	change(obj)
	if err := a.WithWatch.Status().Patch(t.Context(), obj, client.MergeFrom(before)); err != nil {
		t.Fatalf("change the status of %s: %v", name, err)
	}
	return obj
}

// Remove deletes an object; its finalizers may keep it for a while.
func (a *API) Remove(t testing.TB, obj client.Object) {
	t.Helper()
	if err := a.WithWatch.Delete(t.Context(), obj); err != nil {
		t.Fatalf("delete %s: %v", obj.GetName(), err)
	}
}

// Add creates an object.
func (a *API) Add(t testing.TB, obj client.Object) {
	t.Helper()
	if err := a.WithWatch.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %s: %v", obj.GetName(), err)
	}
}

// Says checks a condition: its status and its reason, and that its message has every part.
func Says(t testing.TB, conditions []metav1.Condition, kind string, status metav1.ConditionStatus, reason string, parts ...string) {
	t.Helper()
	c := apimeta.FindStatusCondition(conditions, kind)
	if c == nil {
		t.Errorf("there is no condition %s, want %s because %s; there are %v", kind, status, reason, conditions)
		return
	}
	if c.Status != status || c.Reason != reason {
		t.Errorf("condition %s is %s because %s (%s), want %s because %s", kind, c.Status, c.Reason, c.Message, status, reason)
	}
	for _, part := range parts {
		if !strings.Contains(c.Message, part) {
			t.Errorf("the message of condition %s is %q, which does not say %q", kind, c.Message, part)
		}
	}
}
