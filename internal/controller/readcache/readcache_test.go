package readcache

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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

// contents are those kinds whose contents are in no cache.
var contents = map[string]struct {
	make func(name, value string) client.Object
	data func(client.Object) map[string][]byte
}{
	"Secret": {
		func(name, value string) client.Object {
			return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(name)}, Data: map[string][]byte{"k": []byte(value)}}
		},
		func(o client.Object) map[string][]byte { return o.(*corev1.Secret).Data },
	},
	"BMCSecret": {
		func(name, value string) client.Object {
			return &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Data: map[string][]byte{"k": []byte(value)}}
		},
		func(o client.Object) map[string][]byte { return o.(*metalv1.BMCSecret).Data },
	},
}

// site is a reader with what it reads, and a cache of metadata that is synced by hand.
type site struct {
	live   client.Client
	cache  *lagging
	reader *Reader
	ours   client.Client
	reads  int
	// lost, if set, is what a patch comes to that was carried out; during is done right before that.
	lost   error
	during func()
}

func newSite(t *testing.T) *site {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, metalv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &site{cache: &lagging{seen: map[client.ObjectKey]metav1.PartialObjectMetadata{}}}
	s.live = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			s.reads++
			return c.Get(ctx, key, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if s.during != nil {
				s.during()
			}
			return errors.Join(c.Patch(ctx, obj, patch, opts...), s.lost)
		},
	}).Build()
	s.reader = New(s.live, s.cache)
	s.ours = s.reader.Client(s.live)
	return s
}

func TestReadsOnceForEachVersion(t *testing.T) {
	for name, tc := range contents {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), newSite(t)
			obj := tc.make("a", "1")
			key := client.ObjectKeyFromObject(obj)
			expect := func(what, value string, more int) {
				t.Helper()
				before, got := s.reads, tc.make("a", "")
				if err := s.reader.Get(ctx, key, got); err != nil {
					t.Fatal(err)
				}
				if text := string(tc.data(got)["k"]); text != value || s.reads-before != more {
					t.Errorf("%s: %q in %d reads, want %q in %d", what, text, s.reads-before, value, more)
				}
				tc.data(got)["k"] = []byte("whoever reads may change it")
			}
			if err := s.live.Create(ctx, obj); err != nil {
				t.Fatal(err)
			}
			expect("a cache that has nothing", "1", 1)
			expect("nor has it now", "1", 1)
			s.cache.sync(obj)
			expect("what the cache has too", "1", 0)
			expect("and again", "1", 0)

			tc.data(obj)["k"] = []byte("2")
			if err := s.live.Update(ctx, obj); err != nil {
				t.Fatal(err)
			}
			expect("what somebody else has written and the cache does not have", "1", 0)
			s.cache.sync(obj)
			expect("and since", "2", 1)
			expect("is kept as well", "2", 0)

			if err := s.ours.Delete(ctx, obj); err != nil {
				t.Fatal(err)
			}
			if err := s.reader.Get(ctx, key, tc.make("a", "")); client.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("after a deletion here: %v", err)
			}
		})
	}
}

// TestWhatWasWrittenIsNotRead: the API has answered with all of it. What was written without a lock may have been changed
// by somebody else in between, and what has failed may have been written all the same.
func TestWhatWasWrittenIsNotRead(t *testing.T) {
	change := func(lock bool) func(context.Context, *site, client.Object, func(client.Object) map[string][]byte) error {
		return func(ctx context.Context, s *site, obj client.Object, data func(client.Object) map[string][]byte) error {
			patch := client.MergeFrom(obj.DeepCopyObject().(client.Object))
			if lock {
				patch = client.MergeFromWithOptions(obj.DeepCopyObject().(client.Object), client.MergeFromWithOptimisticLock{})
			}
			data(obj)["k"] = []byte("2")
			return s.ours.Patch(ctx, obj, patch)
		}
	}
	for name, w := range map[string]struct {
		write func(context.Context, *site, client.Object, func(client.Object) map[string][]byte) error
		value string
		lost  error
		reads int
	}{
		"a creation": {func(context.Context, *site, client.Object, func(client.Object) map[string][]byte) error { return nil }, "1", nil, 0},
		"an update": {func(ctx context.Context, s *site, obj client.Object, data func(client.Object) map[string][]byte) error {
			data(obj)["k"] = []byte("2")
			return s.ours.Update(ctx, obj)
		}, "2", nil, 0},
		"a patch":                      {change(true), "2", nil, 1}, // another reader, meanwhile
		"a patch without a lock":       {change(false), "2", nil, 2},
		"a patch whose answer is lost": {change(true), "2", errors.New("the connection is gone"), 2},
	} {
		for kind, tc := range contents {
			t.Run(name+" of a "+kind, func(t *testing.T) {
				ctx, s := t.Context(), newSite(t)
				obj := tc.make("a", "1")
				if err := s.ours.Create(ctx, obj); err != nil {
					t.Fatal(err)
				}
				s.cache.sync(obj)
				s.lost = w.lost
				s.during = func() {
					if err := s.reader.Get(ctx, client.ObjectKeyFromObject(obj), tc.make("a", "")); err != nil {
						t.Error(err)
					}
				}
				if err := w.write(ctx, s, obj, tc.data); !errors.Is(err, w.lost) {
					t.Fatal(err)
				}
				for _, when := range []string{"before the cache has it", "and since"} {
					got := tc.make("a", "")
					if err := s.reader.Get(ctx, client.ObjectKeyFromObject(obj), got); err != nil {
						t.Fatal(err)
					}
					if text := string(tc.data(got)["k"]); text != w.value {
						t.Errorf("%s: %q, want %q", when, text, w.value)
					}
					s.cache.sync(obj)
				}
				if s.reads != w.reads {
					t.Errorf("%d reads, want %d", s.reads, w.reads)
				}
			})
		}
	}
}

// TestAReaderThatIsLateBringsNothingBack: it has read before somebody wrote here, and comes to keep it after.
func TestAReaderThatIsLateBringsNothingBack(t *testing.T) {
	ctx, s := t.Context(), newSite(t)
	obj := contents["Secret"].make("a", "1")
	if err := s.ours.Create(ctx, obj); err != nil {
		t.Fatal(err)
	}
	s.cache.sync(obj)
	late := obj.DeepCopyObject().(client.Object)
	obj.(*corev1.Secret).Data["k"] = []byte("2")
	if err := s.ours.Update(ctx, obj); err != nil {
		t.Fatal(err)
	}
	s.reader.keep(id{secrets, client.ObjectKeyFromObject(obj)}, late)
	var got corev1.Secret
	if err := s.reader.Get(ctx, client.ObjectKeyFromObject(obj), &got); err != nil || string(got.Data["k"]) != "2" {
		t.Errorf("%q, %v", got.Data["k"], err)
	}
	other := contents["Secret"].make("a", "made anew")
	other.SetUID("other")
	other.SetResourceVersion("1")
	s.reader.keep(id{secrets, client.ObjectKeyFromObject(obj)}, other)
	s.cache.sync(other)
	if err := s.reader.Get(ctx, client.ObjectKeyFromObject(obj), &got); err != nil || string(got.Data["k"]) != "made anew" {
		t.Errorf("another object of the name: %q, %v", got.Data["k"], err)
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
