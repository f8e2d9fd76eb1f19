package trigger

import (
	"context"
	"fmt"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Source is a source for controller-runtime that anybody may wake objects with.
// It never blocks the one who wakes; what comes before the controller has
// started is kept until it has. The zero value is ready for use.
type Source struct {
	mu      sync.Mutex
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	waiting map[reconcile.Request]struct{}
}

// Wake queues the object of that name; namespace is empty for cluster-scoped
// kinds. An object that is queued already is not queued twice.
func (s *Source) Wake(namespace, name string) {
	req := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	s.mu.Lock()
	queue := s.queue
	if queue == nil {
		if s.waiting == nil {
			s.waiting = map[reconcile.Request]struct{}{}
		}
		s.waiting[req] = struct{}{}
	}
	s.mu.Unlock()
	if queue != nil {
		queue.Add(req)
	}
}

// WakeAfter is Wake after a while. Several within it are one.
func (s *Source) WakeAfter(namespace, name string, d time.Duration) {
	s.mu.Lock()
	queue := s.queue
	s.mu.Unlock()
	if queue == nil || d <= 0 {
		s.Wake(namespace, name)
		return
	}
	queue.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}, d)
}

// WakeAll is Wake of every object of some lists, as a cache has them. The objects are only looked at.
func (s *Source) WakeAll(ctx context.Context, cached client.Reader, lists ...client.ObjectList) error {
	for _, list := range lists {
		if err := cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("wake all of %T: %w", list, err)
		}
		err := apimeta.EachListItem(list, func(item runtime.Object) error {
			object, err := apimeta.Accessor(item)
			if err == nil {
				s.Wake(object.GetNamespace(), object.GetName())
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("wake all of %T: %w", list, err)
		}
	}
	return nil
}

// Start is called by controller-runtime when the controller starts.
func (s *Source) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = queue
	for req := range s.waiting {
		queue.Add(req)
	}
	s.waiting = nil
	return nil
}

// String names the source in controller-runtime's logs.
func (s *Source) String() string { return "wake source" }
