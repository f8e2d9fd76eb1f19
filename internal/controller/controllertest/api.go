package controllertest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/farrier-dev/farrier/api"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

// Start is when the clock of every API begins. Objects keep whole seconds, and so does it.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// What an API can be asked, as Fail and Request name it.
const (
	Get         = "get"
	List        = "list"
	Create      = "create"
	Delete      = "delete"
	Update      = "update"
	Patch       = "patch"
	PatchStatus = "patch status"
)

// Request is one request that writes.
type Request struct{ Verb, Kind, Name string }

// API is a Kubernetes API in memory.
type API struct {
	client.WithWatch
	Clock *clocktesting.FakeClock
	// Fail, if set, is asked before every request; its error is the answer.
	Fail func(verb string, obj runtime.Object) error
	// Logger, if set, is the logger of every reconcile.
	Logger logr.Logger

	store  client.WithWatch
	stored *tracker
	lists  lists
	order  sync.Mutex // writes are one after another
	mu     sync.Mutex
	writes []Request
	uids   int
}

// NewAPI makes an API that holds objects.
func NewAPI(t testing.TB, objects ...client.Object) *API {
	t.Helper()
	a := &API{Clock: clocktesting.NewFakeClock(Start)}
	for _, obj := range objects {
		a.born(obj)
	}
	b, stored := builder(t)
	a.stored = stored
	a.store = b.WithObjects(objects...).Build()
	a.WithWatch = interceptor.NewClient(a.store, interceptor.Funcs{
		Get:              a.get,
		List:             a.list,
		Create:           a.create,
		Delete:           a.delete,
		Update:           a.update,
		Patch:            a.patch,
		SubResourcePatch: a.patchStatus,
	})
	return a
}

// builder knows the kinds and the indexes that the product has. It keeps no record of field managers, which
// costs more than all the rest: nothing here applies.
func builder(t testing.TB) (*fake.ClientBuilder, *tracker) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	objects := &tracker{writes: map[string]int{}, scheme: scheme, indexes: map[indexed]client.IndexerFunc{}, ObjectTracker: clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(objects).WithStatusSubresource(withStatus(t, scheme)...)
	if err := index.Register(t.Context(), indexer{b, objects}); err != nil {
		t.Fatal(err)
	}
	return b, objects
}

// withStatus returns an object of each of our kinds that has a status, which is written apart from the rest.
func withStatus(t testing.TB, scheme *runtime.Scheme) []client.Object {
	t.Helper()
	var found []client.Object
	for kind, goType := range scheme.AllKnownTypes() {
		if _, ok := goType.FieldByName("Status"); !ok || kind.Group == corev1.GroupName {
			continue
		}
		obj, err := scheme.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		if o, ok := obj.(client.Object); ok {
			found = append(found, o)
		}
	}
	return found
}

// indexer lets the product register its indexes with the fake, and with what reads past it.
type indexer struct {
	builder *fake.ClientBuilder
	objects *tracker
}

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, value client.IndexerFunc) error {
	i.builder.WithIndex(obj, field, value)
	i.objects.indexes[indexed{reflect.TypeOf(obj), field}] = value
	return nil
}

// Lagging is a client that writes to a and reads what a holds now, whatever is written from
// now on: a cache that hears of nothing any more.
func (a *API) Lagging(t testing.TB, kinds ...client.ObjectList) client.Client {
	t.Helper()
	b, _ := builder(t)
	for _, list := range kinds {
		if err := a.store.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		b.WithLists(list)
	}
	old := b.Build()
	lags := func(obj runtime.Object) bool {
		return slices.ContainsFunc(kinds, func(l client.ObjectList) bool { return a.kind(l) == a.kind(obj)+"List" || a.kind(l) == a.kind(obj) })
	}
	return interceptor.NewClient(a.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, live client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if lags(obj) {
				return old.Get(ctx, key, obj, opts...)
			}
			return live.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, live client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if lags(list) {
				return old.List(ctx, list, opts...)
			}
			return live.List(ctx, list, opts...)
		},
	})
}

// Writes returns the requests that wrote to objects of a kind, in their order. An empty kind means
// all of them.
func (a *API) Writes(kind string) []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []Request
	for _, w := range a.writes {
		if kind == "" || w.Kind == kind {
			found = append(found, w)
		}
	}
	return found
}

// written is how many requests Writes returns.
func (a *API) written() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.writes)
}

// ForgetWrites begins the count anew.
func (a *API) ForgetWrites() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writes = nil
}

func (a *API) kind(obj runtime.Object) string {
	gvk, err := apiutil.GVKForObject(obj, a.store.Scheme())
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	return gvk.Kind
}

func (a *API) asked(verb string, obj runtime.Object) error {
	if a.Fail == nil {
		return nil
	}
	return a.Fail(verb, obj)
}

func (a *API) wrote(verb string, obj client.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writes = append(a.writes, Request{verb, a.kind(obj), obj.GetName()})
}

// born gives an object what the API server gives a new one.
func (a *API) born(obj client.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.uids++
	if obj.GetUID() == "" {
		obj.SetUID(types.UID(fmt.Sprintf("uid-%d-%s", a.uids, obj.GetName())))
	}
	if obj.GetGeneration() == 0 {
		obj.SetGeneration(1)
	}
	if t := obj.GetCreationTimestamp(); t.IsZero() {
		obj.SetCreationTimestamp(metav1.NewTime(a.Clock.Now()))
	}
}

func (a *API) get(ctx context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if err := a.asked(Get, obj); err != nil {
		return err
	}
	return a.read(ctx, key, obj)
}

func (a *API) list(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	if err := a.asked(List, list); err != nil {
		return err
	}
	return a.readList(ctx, list, opts...)
}

func (a *API) create(ctx context.Context, store client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
	if err := a.asked(Create, obj); err != nil {
		return err
	}
	a.born(obj)
	a.order.Lock()
	defer a.order.Unlock()
	if err := store.Create(ctx, obj, opts...); err != nil {
		return err
	}
	a.wrote(Create, obj)
	return nil
}

func (a *API) delete(ctx context.Context, store client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
	if err := a.asked(Delete, obj); err != nil {
		return err
	}
	a.order.Lock()
	defer a.order.Unlock()
	if err := store.Delete(ctx, obj, opts...); err != nil {
		return err
	}
	a.wrote(Delete, obj)
	return nil
}

func (a *API) update(ctx context.Context, store client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
	if err := a.asked(Update, obj); err != nil {
		return err
	}
	a.order.Lock()
	defer a.order.Unlock()
	return a.change(ctx, Update, obj, func() error { return store.Update(ctx, obj, opts...) })
}

// change writes an object, and raises its generation if that changed its spec.
func (a *API) change(ctx context.Context, verb string, obj client.Object, write func() error) error {
	before, err := a.content(ctx, obj)
	if err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	a.wrote(verb, obj)
	after, err := a.content(ctx, obj)
	if apierrors.IsNotFound(err) || equality.Semantic.DeepEqual(before, after) {
		return nil // the last finalizer is gone, or metadata alone has changed
	} else if err != nil {
		return err
	}
	obj.SetGeneration(obj.GetGeneration() + 1)
	return a.store.Update(ctx, obj)
}
