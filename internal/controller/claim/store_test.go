package claim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

var (
	errDied     = errors.New("the process has ended")
	errNoAnswer = errors.New("no answer")
)

// store is an API in memory beside a cache that hears of its changes when it is told to. It has what the
// controller uses and is fast enough for a thousand claims and many lives. Every write is one with an optimistic
// lock: the object that is written replaces the one of its version, status and the rest apart.
type store struct {
	client.Client // nil: what is not below is not used
	scheme        *runtime.Scheme
	random        *rand.Rand
	version       int
	truth, cache  map[key]client.Object
	indexed       map[string]map[key]client.Object // what the cache shows, by entry
	news          []key
	writes        map[string]int // by kind, those of status apart
	// wrote, if set, hears of each write that was done: what was stored before, nil if nothing, and what is now.
	wrote func(before, after client.Object)
	// dieIn is after how many writes the process ends; negative: never. unreliable is the share of
	// writes that lose their request or their answer.
	dieIn      int
	unreliable float64
}

type key struct{ kind, namespace, name string }

func newStore(random *rand.Rand) *store {
	scheme := runtime.NewScheme()
	if err := metalv1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return &store{scheme: scheme, random: random, truth: map[key]client.Object{}, cache: map[key]client.Object{}, writes: map[string]int{}, dieIn: -1}
}

func keyOf(obj client.Object) key {
	return key{fmt.Sprintf("%T", obj), obj.GetNamespace(), obj.GetName()}
}

func (s *store) Scheme() *runtime.Scheme { return s.scheme }

// put is a write that nothing can go wrong with.
func (s *store) put(obj client.Object) {
	s.version++
	obj.SetResourceVersion(strconv.Itoa(s.version))
	s.truth[keyOf(obj)] = obj.DeepCopyObject().(client.Object)
	s.news = append(s.news, keyOf(obj))
}

// remove is what a deletion does, by a user or the garbage collector: at once, unless a finalizer holds it back.
func (s *store) remove(k key) {
	obj := s.truth[k]
	if obj == nil || !obj.GetDeletionTimestamp().IsZero() {
		return
	}
	if len(obj.GetFinalizers()) > 0 {
		obj = obj.DeepCopyObject().(client.Object)
		obj.SetDeletionTimestamp(&metav1.Time{Time: controllertest.Start})
		s.put(obj)
		return
	}
	delete(s.truth, k)
	s.news = append(s.news, k)
}

// sync makes the cache what is true, as a process finds it at its start.
func (s *store) sync() {
	s.news, s.cache, s.indexed = nil, map[key]client.Object{}, map[string]map[key]client.Object{}
	for k, obj := range s.truth {
		s.show(k, obj)
	}
}

// show makes the cache show an object, or nil if it is gone.
func (s *store) show(k key, obj client.Object) {
	delete(s.indexed[entry(s.cache[k])], k)
	if delete(s.cache, k); obj == nil {
		return
	}
	s.cache[k] = obj
	e := entry(obj)
	if s.indexed[e] == nil {
		s.indexed[e] = map[key]client.Object{}
	}
	s.indexed[e][k] = obj
}

// entry is where an object is in the indexes that the controller lists by.
func entry(obj client.Object) string {
	switch o := obj.(type) {
	case *metalv1.Server:
		return index.ServerByClaim + "=" + o.Annotations[metalv1.AnnotationClaimedBy]
	case *metalv1.ServerClaim:
		if o.Spec.ServerRef != nil {
			return index.ClaimByServer + "=" + o.Spec.ServerRef.Name
		}
	}
	return ""
}

// hear lets the oldest news into the cache, which shows the newest of what they are about. after is nil if that is gone.
func (s *store) hear() (k key, before, after client.Object) {
	k = s.news[0]
	s.news = s.news[1:]
	before, after = s.cache[k], s.truth[k]
	s.show(k, after)
	return k, before, after
}

func read(from map[key]client.Object, name client.ObjectKey, obj client.Object) error {
	found := from[key{fmt.Sprintf("%T", obj), name.Namespace, name.Name}]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", obj)}, name.Name)
	}
	switch into := obj.(type) {
	case *metalv1.Server:
		found.(*metalv1.Server).DeepCopyInto(into)
	case *metalv1.ServerClaim:
		found.(*metalv1.ServerClaim).DeepCopyInto(into)
	case *metalv1.ServerBootConfiguration:
		found.(*metalv1.ServerBootConfiguration).DeepCopyInto(into)
	}
	return nil
}

func (s *store) Get(_ context.Context, name client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	return read(s.cache, name, obj)
}

// live reads past the cache.
type live struct {
	client.Reader
	store *store
}

func (l live) Get(_ context.Context, name client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	return read(l.store.truth, name, obj)
}

func (s *store) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	field := options.FieldSelector.Requirements()[0]
	for _, obj := range s.indexed[field.Field+"="+field.Value] {
		switch into := list.(type) {
		case *metalv1.ServerList:
			into.Items = append(into.Items, *obj.(*metalv1.Server).DeepCopy())
		case *metalv1.ServerClaimList:
			into.Items = append(into.Items, *obj.(*metalv1.ServerClaim).DeepCopy())
		}
	}
	return nil
}

// write does what a request does: it may be lost, refused, done, or done without an answer. what is how it is counted.
func (s *store) write(what string, obj client.Object, change func(stored client.Object) client.Object) error {
	return s.request(func() error { return s.apply(what, obj, change) })
}

func (s *store) request(do func() error) error {
	if s.dieIn == 0 {
		return errDied
	}
	dies := s.dieIn == 1
	s.dieIn = max(s.dieIn-1, -1)
	if lost := dies || s.random.Float64() < s.unreliable; lost && s.random.IntN(2) == 0 {
		s.dieIn = map[bool]int{true: 0, false: s.dieIn}[dies]
		return errNoAnswer
	} else if err := do(); err != nil {
		return err
	} else if lost {
		return errNoAnswer
	}
	return nil
}

func (s *store) apply(what string, obj client.Object, change func(client.Object) client.Object) error {
	k := keyOf(obj)
	stored := s.truth[k]
	if stored != nil && stored.GetResourceVersion() != obj.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{Resource: k.kind}, k.name, errors.New("modified"))
	}
	s.writes[what]++
	next := change(stored)
	if s.put(next); !next.GetDeletionTimestamp().IsZero() && len(next.GetFinalizers()) == 0 {
		delete(s.truth, k)
	}
	obj.SetResourceVersion(next.GetResourceVersion())
	if s.wrote != nil {
		s.wrote(stored, next)
	}
	return nil
}

func (s *store) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	if s.truth[keyOf(obj)] == nil {
		return missing(obj)
	}
	return s.write(keyOf(obj).kind, obj, func(client.Object) client.Object { return obj.DeepCopyObject().(client.Object) })
}

func missing(obj client.Object) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: keyOf(obj).kind}, obj.GetName())
}

func (s *store) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	if s.truth[keyOf(obj)] != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: keyOf(obj).kind}, obj.GetName())
	}
	return s.write(keyOf(obj).kind, obj, func(client.Object) client.Object { return obj.DeepCopyObject().(client.Object) })
}

func (s *store) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	k := keyOf(obj)
	if s.truth[k] == nil || s.truth[k].GetUID() != obj.GetUID() {
		return missing(obj)
	}
	return s.request(func() error {
		s.remove(k)
		return nil
	})
}

func (s *store) Status() client.SubResourceWriter { return statusWriter{store: s} }

// statusWrites is how writes of status are counted: they are of claims alone.
const statusWrites = "status"

type statusWriter struct {
	client.SubResourceWriter
	store *store
}

func (w statusWriter) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	if w.store.truth[keyOf(obj)] == nil {
		return missing(obj)
	}
	return w.store.write(statusWrites, obj, func(stored client.Object) client.Object {
		next := stored.DeepCopyObject().(*metalv1.ServerClaim)
		next.Status = obj.(*metalv1.ServerClaim).DeepCopy().Status
		return next
	})
}

// touch is somebody else's write to a server, which has nothing to do with claims.
func (s *store) touch(name string) {
	server := s.truth[key{"*v1alpha1.Server", "", name}].DeepCopyObject().(*metalv1.Server)
	touched := metav1.Condition{Type: "Touched", Status: metav1.ConditionTrue, Message: strconv.Itoa(s.version)}
	apimeta.SetStatusCondition(&server.Status.Conditions, touched)
	s.put(server)
}
