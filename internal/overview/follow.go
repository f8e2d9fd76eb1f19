package overview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Follower has all objects as they are now: it lists each kind once and then watches it.
type Follower struct {
	api client.WithWatch

	mu      sync.Mutex
	changed chan struct{}

	servers   kept[metalv1.Server, *metalv1.Server]
	claims    kept[metalv1.ServerClaim, *metalv1.ServerClaim]
	boots     kept[metalv1.ServerBootConfiguration, *metalv1.ServerBootConfiguration]
	bmcs      kept[metalv1.BMC, *metalv1.BMC]
	endpoints kept[metalv1.Endpoint, *metalv1.Endpoint]
}

// NewFollower makes a Follower, which knows nothing before it runs.
func NewFollower(api client.WithWatch) *Follower {
	f := &Follower{api: api, changed: make(chan struct{})}
	f.servers.state, f.claims.state, f.boots.state = state{f: f, kind: "Servers"}, state{f: f, kind: "ServerClaims"}, state{f: f, kind: "ServerBootConfigurations"}
	f.bmcs.state, f.endpoints.state = state{f: f, kind: "BMCs"}, state{f: f, kind: "Endpoints"}
	return f
}

// Run follows the objects until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	ctx = klog.NewContext(ctx, logr.Discard()) // errors are told by Objects
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { f.servers.run(ctx, &metalv1.ServerList{}) })
	running.Go(func() { f.claims.run(ctx, &metalv1.ServerClaimList{}) })
	running.Go(func() { f.boots.run(ctx, &metalv1.ServerBootConfigurationList{}) })
	running.Go(func() { f.bmcs.run(ctx, &metalv1.BMCList{}) })
	running.Go(func() { f.endpoints.run(ctx, &metalv1.EndpointList{}) })
}

// Changed is closed when an object, or what Objects has to say about an error, has changed since this was called.
func (f *Follower) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// touch says that something has changed. f.mu is held.
func (f *Follower) touch() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// Objects are all objects in the order of their names; nil: they have not all been listed yet. What the user may not list is named in missing. err says
// why nothing newer is known.
func (f *Follower) Objects() (o *Objects, missing []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range []*state{&f.servers.state, &f.claims.state, &f.boots.state, &f.bmcs.state, &f.endpoints.state} {
		switch {
		case k.failed != nil && err == nil:
			err = k.failed
		case k.forbidden:
			missing = append(missing, forbidden(k.kind))
		}
		if !k.listed && !k.forbidden {
			return nil, missing, err
		}
	}
	return &Objects{f.servers.sorted(), f.claims.sorted(), f.boots.sorted(), f.bmcs.sorted(), f.endpoints.sorted()}, missing, err
}

// forbidden says what a user may not see.
func forbidden(kind string) string { return kind + ": this user may not list them" }

// state is how the watch of a kind stands. The mutex of its Follower guards it.
type state struct {
	f                 *Follower
	kind              string
	listed, forbidden bool
	failed            error
}

// tried notes the outcome of a request, and reports whether it is worth another look. Who may list a kind and not watch it has it listed again now and
// then.
func (s *state) tried(err error, watches bool) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	denied := apierrors.IsForbidden(err)
	if denied && watches || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	was := s.failed
	if s.forbidden, s.failed = denied, nil; err != nil && !denied {
		s.failed = fmt.Errorf("--kubeconfig: list %s: %w", s.kind, err)
	}
	if (was == nil) != (s.failed == nil) || denied {
		s.f.touch()
	}
}

// kept are the objects of a kind. It is what a reflector writes into.
type kept[T any, P interface {
	*T
	client.Object
}] struct {
	state
	by map[key]T
}

// run lists and watches a kind until ctx ends.
func (k *kept[T, P]) run(ctx context.Context, list client.ObjectList) {
	fresh := func() client.ObjectList {
		made, _ := list.DeepCopyObject().(client.ObjectList)
		return made
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			into := fresh()
			err := k.f.api.List(ctx, into, &client.ListOptions{Raw: &options})
			k.tried(err, false)
			return into, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := k.f.api.Watch(ctx, fresh(), &client.ListOptions{Raw: &options})
			k.tried(err, true)
			return events, err
		},
	}
	logger := logr.Discard()
	cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, k.f.api), P(new(T)), k, cache.ReflectorOptions{Name: k.kind, Logger: &logger}).RunWithContext(ctx)
}

// Add implements cache.ReflectorStore.
func (k *kept[T, P]) Add(object any) error { return k.Update(object) }

// Update implements cache.ReflectorStore.
func (k *kept[T, P]) Update(object any) error {
	k.f.mu.Lock()
	defer k.f.mu.Unlock()
	k.put(object)
	k.f.touch()
	return nil
}

// Delete implements cache.ReflectorStore.
func (k *kept[T, P]) Delete(object any) error {
	k.f.mu.Lock()
	defer k.f.mu.Unlock()
	if o, ok := object.(P); ok {
		delete(k.by, key{o.GetNamespace(), o.GetName()})
	}
	k.f.touch()
	return nil
}

// Replace implements cache.ReflectorStore.
func (k *kept[T, P]) Replace(objects []any, _ string) error {
	k.f.mu.Lock()
	defer k.f.mu.Unlock()
	k.by, k.listed = make(map[key]T, len(objects)), true
	for _, object := range objects {
		k.put(object)
	}
	k.f.touch()
	return nil
}

// Resync implements cache.ReflectorStore.
func (k *kept[T, P]) Resync() error { return nil }

// put keeps an object, without what nobody shows. The mutex is held.
func (k *kept[T, P]) put(object any) {
	if k.by == nil {
		k.by = map[key]T{}
	}
	if o, ok := object.(P); ok {
		o.SetManagedFields(nil)
		k.by[key{o.GetNamespace(), o.GetName()}] = *o
	}
}

func (k *kept[T, P]) sorted() []T {
	keys := slices.SortedFunc(maps.Keys(k.by), func(a, b key) int { return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name)) })
	all := make([]T, 0, len(keys))
	for _, at := range keys {
		all = append(all, k.by[at])
	}
	return all
}
