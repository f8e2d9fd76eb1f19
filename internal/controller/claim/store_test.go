package claim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
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
	news          []key
	writes        map[string]int // by kind
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

// sync makes the cache what is true, as a process finds it at its start.
func (s *store) sync() {
	s.news, s.cache = nil, map[key]client.Object{}
	for k, obj := range s.truth {
		s.cache[k] = obj
	}
}

// hear lets the oldest news into the cache, which shows the newest of what they are about.
func (s *store) hear() (before, after client.Object) {
	k := s.news[0]
	s.news = s.news[1:]
	before, after = s.cache[k], s.truth[k]
	s.cache[k] = after
	return before, after
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
	for _, obj := range s.cache {
		switch into := list.(type) {
		case *metalv1.ServerList:
			if server, ok := obj.(*metalv1.Server); ok && field.Field == index.ServerByClaim && server.Annotations[metalv1.AnnotationClaimedBy] == field.Value {
				into.Items = append(into.Items, *server.DeepCopy())
			}
		case *metalv1.ServerClaimList:
			if c, ok := obj.(*metalv1.ServerClaim); ok && c.Spec.ServerRef != nil && c.Spec.ServerRef.Name == field.Value {
				into.Items = append(into.Items, *c.DeepCopy())
			}
		}
	}
	return nil
}

// write does what a request does: it may be lost, refused, done, or done without an answer.
func (s *store) write(obj client.Object, change func(stored client.Object) client.Object) error {
	if s.dieIn == 0 {
		return errDied
	}
	dies := s.dieIn == 1
	s.dieIn = max(s.dieIn-1, -1)
	if lost := dies || s.random.Float64() < s.unreliable; lost && s.random.IntN(2) == 0 {
		s.dieIn = map[bool]int{true: 0, false: s.dieIn}[dies]
		return errNoAnswer
	} else if err := s.apply(obj, change); err != nil {
		return err
	} else if lost {
		return errNoAnswer
	}
	return nil
}

func (s *store) apply(obj client.Object, change func(client.Object) client.Object) error {
	k := keyOf(obj)
	stored := s.truth[k]
	if stored != nil && stored.GetResourceVersion() != obj.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{Resource: k.kind}, k.name, errors.New("modified"))
	}
	s.writes[k.kind]++
	next := change(stored)
	s.put(next)
	obj.SetResourceVersion(next.GetResourceVersion())
	return nil
}

func (s *store) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return s.write(obj, func(client.Object) client.Object { return obj.DeepCopyObject().(client.Object) })
}

func (s *store) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	if s.truth[keyOf(obj)] != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: keyOf(obj).kind}, obj.GetName())
	}
	return s.write(obj, func(client.Object) client.Object { return obj.DeepCopyObject().(client.Object) })
}

func (s *store) Status() client.SubResourceWriter { return statusWriter{store: s} }

type statusWriter struct {
	client.SubResourceWriter
	store *store
}

func (w statusWriter) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	return w.store.write(obj, func(stored client.Object) client.Object {
		next := stored.DeepCopyObject().(*metalv1.ServerClaim)
		next.Status = obj.(*metalv1.ServerClaim).DeepCopy().Status
		return next
	})
}

// touch is somebody else's write to a server, which has nothing to do with claims.
func (s *store) touch(name string) {
	server := s.truth[key{"*v1alpha1.Server", "", name}].DeepCopyObject().(*metalv1.Server)
	server.Status.Conditions = []metav1.Condition{{Type: "Touched", Message: strconv.Itoa(s.version)}}
	s.put(server)
}
