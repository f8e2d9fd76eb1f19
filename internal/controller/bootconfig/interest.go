package bootconfig

import (
	"crypto/sha256"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// interest remembers which boot configurations wait for which image, so that news
// of an image wakes those and no others, and an image that nobody boots any
// more is not refreshed any more.
type interest struct {
	source trigger.Source

	mu      sync.Mutex
	waiting map[imageKey]map[reconcile.Request]struct{}
	images  map[reconcile.Request]registry.Request
}

// imageKey is what makes two requests for an image the same.
type imageKey struct {
	reference, architecture string
	secret                  [sha256.Size]byte
}

func keyOf(r registry.Request) imageKey {
	return imageKey{r.Reference, r.Architecture, sha256.Sum256(r.PullSecret)}
}

func (i *interest) init() {
	i.waiting = map[imageKey]map[reconcile.Request]struct{}{}
	i.images = map[reconcile.Request]registry.Request{}
}

// set says that req boots the image; forget is called for one that nobody boots now.
func (i *interest) set(req reconcile.Request, img registry.Request, forget func(registry.Request)) {
	i.mu.Lock()
	if i.images == nil {
		i.init()
	}
	old, had := i.images[req]
	if had && keyOf(old) == keyOf(img) {
		i.mu.Unlock()
		return
	}
	last := had && i.remove(req, old)
	i.images[req] = img
	if i.waiting[keyOf(img)] == nil {
		i.waiting[keyOf(img)] = map[reconcile.Request]struct{}{}
	}
	i.waiting[keyOf(img)][req] = struct{}{}
	i.mu.Unlock()
	if last {
		forget(old)
	}
}

// drop says that req is gone.
func (i *interest) drop(req reconcile.Request, forget func(registry.Request)) {
	i.mu.Lock()
	old, had := i.images[req]
	last := had && i.remove(req, old)
	i.mu.Unlock()
	if last {
		forget(old)
	}
}

func (i *interest) remove(req reconcile.Request, img registry.Request) (last bool) {
	delete(i.images, req)
	delete(i.waiting[keyOf(img)], req)
	if len(i.waiting[keyOf(img)]) > 0 {
		return false
	}
	delete(i.waiting, keyOf(img))
	return true
}

func (i *interest) wake(img registry.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for req := range i.waiting[keyOf(img)] {
		i.source.Wake(req.Namespace, req.Name)
	}
}

// onHardwareChange lets only those changes of a Server through that a boot configuration depends
// on: whether it exists, its identity, its site, its architecture and its network.
func onHardwareChange() builder.WatchesOption {
	return builder.WithPredicates(predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*metalv1.Server)
			after, ok2 := e.ObjectNew.(*metalv1.Server)
			return !ok1 || !ok2 || hardwareChanged(before, after)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	})
}

func hardwareChanged(before, after *metalv1.Server) bool {
	return before.Spec.SystemUUID != after.Spec.SystemUUID ||
		before.Labels[metalv1.LabelSite] != after.Labels[metalv1.LabelSite] ||
		!equality.Semantic.DeepEqual(before.Status.Processors, after.Status.Processors) ||
		!equality.Semantic.DeepEqual(before.Status.NetworkInterfaces, after.Status.NetworkInterfaces)
}
