package reread

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// lagging is a cache that has what the store had when it was last synced.
type lagging struct {
	client.Reader
	seen map[client.ObjectKey]metav1.PartialObjectMetadata
}

func (l *lagging) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	*obj.(*metav1.PartialObjectMetadata) = l.seen[key]
	return nil
}

// sync takes over the metadata of an object.
func (l *lagging) sync(obj client.Object) {
	var m metav1.PartialObjectMetadata
	m.UID, m.ResourceVersion = obj.GetUID(), obj.GetResourceVersion()
	l.seen[client.ObjectKeyFromObject(obj)] = m
}

func TestReadsOnceForEachVersion(t *testing.T) {
	ctx := t.Context()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, metalv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	reads := 0
	live := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()
	for name, tc := range map[string]struct {
		object client.Object
		empty  func() client.Object
		data   func(client.Object) map[string][]byte
	}{
		"Secret": {
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "1"}, Data: map[string][]byte{"k": []byte("1")}},
			func() client.Object { return &corev1.Secret{} },
			func(o client.Object) map[string][]byte { return o.(*corev1.Secret).Data },
		},
		"BMCSecret": {
			&metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}, Data: map[string][]byte{"k": []byte("1")}},
			func() client.Object { return &metalv1.BMCSecret{} },
			func(o client.Object) map[string][]byte { return o.(*metalv1.BMCSecret).Data },
		},
	} {
		t.Run(name, func(t *testing.T) {
			cache := &lagging{seen: map[client.ObjectKey]metav1.PartialObjectMetadata{}}
			reader := New(live, cache)
			ours := reader.Client(live)
			key := client.ObjectKeyFromObject(tc.object)
			expect := func(what, value string, more int) {
				t.Helper()
				before, got := reads, tc.empty()
				if err := reader.Get(ctx, key, got); err != nil {
					t.Fatal(err)
				}
				if text := string(tc.data(got)["k"]); text != value || reads-before != more {
					t.Errorf("%s: %q in %d reads, want %q in %d", what, text, reads-before, value, more)
				}
				tc.data(got)["k"] = []byte("whoever reads may change it")
			}
			if err := live.Create(ctx, tc.object); err != nil {
				t.Fatal(err)
			}
			expect("a cache that has nothing", "1", 1)
			expect("nor has it now", "1", 1)
			cache.sync(tc.object)
			expect("what the cache has too", "1", 0)
			expect("and again", "1", 0)

			old := tc.object.DeepCopyObject().(client.Object)
			tc.data(tc.object)["k"] = []byte("2")
			if err := ours.Patch(ctx, tc.object, client.MergeFrom(old)); err != nil {
				t.Fatal(err)
			}
			expect("what was written here, before the cache has it", "2", 1)
			expect("and still", "2", 1)
			cache.sync(tc.object)
			expect("and since", "2", 0)

			tc.data(tc.object)["k"] = []byte("3")
			if err := live.Update(ctx, tc.object); err != nil {
				t.Fatal(err)
			}
			cache.sync(tc.object)
			expect("what somebody else has written", "3", 1)
			expect("is kept as well", "3", 0)

			if err := ours.Delete(ctx, tc.object); err != nil {
				t.Fatal(err)
			}
			if err := reader.Get(ctx, key, tc.empty()); client.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("after a deletion here: %v", err)
			}
		})
	}
}

// behind is a client whose cache has the objects as they were at the last sync.
type behind struct {
	client.Client
	seen map[client.ObjectKey]*metalv1.Endpoint
}

func (b *behind) Get(ctx context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if seen, ok := b.seen[key]; ok {
		seen.DeepCopyInto(obj.(*metalv1.Endpoint))
		return nil
	}
	return b.Client.Get(ctx, key, obj)
}

func TestWhatWasWrittenIsReadBack(t *testing.T) {
	ctx := t.Context()
	scheme := runtime.NewScheme()
	if err := metalv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	live := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&metalv1.Endpoint{}).Build()
	cache := &behind{Client: live, seen: map[client.ObjectKey]*metalv1.Endpoint{}}
	ours := New(live, live).Client(cache)
	key := client.ObjectKey{Name: "e"}
	expect := func(what, ip string, generation int64) {
		t.Helper()
		var got metalv1.Endpoint
		if err := ours.Get(ctx, key, &got); err != nil {
			t.Fatal(err)
		}
		if got.Spec.IP != ip || got.Status.ObservedGeneration != generation {
			t.Errorf("%s: %s, %d; want %s, %d", what, got.Spec.IP, got.Status.ObservedGeneration, ip, generation)
		}
	}
	e := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: "e", UID: "1"}}
	e.Spec.IP = "10.0.0.1"
	if err := ours.Create(ctx, e); err != nil {
		t.Fatal(err)
	}
	old := e.DeepCopy()
	cache.seen[key] = old
	expect("as it was made", "10.0.0.1", 0)

	before := e.DeepCopy()
	e.Spec.IP = "10.0.0.2"
	if err := ours.Patch(ctx, e, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	expect("written since", "10.0.0.2", 0)
	before = e.DeepCopy()
	e.Status.ObservedGeneration = 7
	if err := ours.Status().Patch(ctx, e, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	expect("its status too", "10.0.0.2", 7)

	if err := live.Get(ctx, key, e); err != nil {
		t.Fatal(err)
	}
	e.Spec.IP = "10.0.0.3"
	if err := live.Update(ctx, e); err != nil {
		t.Fatal(err)
	}
	cache.seen[key] = e
	expect("somebody else's, later", "10.0.0.3", 7)
	other := old.DeepCopy()
	other.UID = "2"
	cache.seen[key] = other
	expect("another object of the name", "10.0.0.1", 0)
}
