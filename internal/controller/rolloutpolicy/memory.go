package rolloutpolicy

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controller/childset"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
)

// permits are those that were written, or may have been, and that the cache does not show yet.
type permits struct {
	mu      sync.Mutex
	written map[types.UID]written
}

// written is a permit, and the version of the object that it was written over: an object of another version shows what became of it.
type written struct {
	over   string
	permit *rolloutpermit.Permit
	// doubt is the object where nobody knows whether it was written.
	doubt client.Object
}

// of is the permit of a child.
func (p *permits) of(c childset.Child) *rolloutpermit.Permit {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.written[c.GetUID()]
	if ok && w.over == c.GetResourceVersion() {
		return w.permit
	}
	delete(p.written, c.GetUID())
	return rolloutpermit.Of(c)
}

// assume remembers a permit before it is written.
func (p *permits) assume(uid types.UID, over string, permit *rolloutpermit.Permit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.written == nil {
		p.written = map[types.UID]written{}
	}
	p.written[uid] = written{over: over, permit: permit}
}

// doubt says that nobody knows whether the permit of an object was written.
func (p *permits) doubt(obj client.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w, ok := p.written[obj.GetUID()]; ok {
		w.doubt = obj
		p.written[obj.GetUID()] = w
	}
}

// doubts are the objects of which nobody knows.
func (p *permits) doubts() (objects []client.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.written {
		if w.doubt != nil {
			objects = append(objects, w.doubt)
		}
	}
	return objects
}

// forget is for one that was certainly not written.
func (p *permits) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.written, uid)
}

// keep forgets those of objects that are gone.
func (p *permits) keep(seen map[types.UID]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for uid := range p.written {
		if !seen[uid] {
			delete(p.written, uid)
		}
	}
}
