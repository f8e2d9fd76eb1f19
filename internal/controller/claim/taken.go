package claim

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/allocator"
)

// taken remembers which server a claim has taken until the cache has heard of it. The cache may show the server as
// free for some time, and a claim whose own write fails meanwhile must not take another.
// What is forgotten with the process is found by the mark that the server carries.
type taken struct {
	mu      sync.Mutex
	byClaim map[client.ObjectKey]possession
}

type possession struct {
	claim  types.UID
	server *metalv1.Server
}

func (t *taken) remember(claim *metalv1.ServerClaim, server *metalv1.Server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byClaim == nil {
		t.byClaim = map[client.ObjectKey]possession{}
	}
	t.byClaim[client.ObjectKeyFromObject(claim)] = possession{claim.UID, server.DeepCopy()}
}

// by returns the server that this very claim has taken, nil if there is none.
func (t *taken) by(claim *metalv1.ServerClaim) *metalv1.Server {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, ok := t.byClaim[client.ObjectKeyFromObject(claim)]; ok && p.claim == claim.UID {
		return p.server.DeepCopy()
	}
	return nil
}

// heard forgets what the claim has taken if the cache knows as much of it, for then it knows better.
func (t *taken) heard(obj *metalv1.ServerClaim, cached *metalv1.Server) {
	if mine := t.by(obj); mine != nil && mine.Name == cached.Name && !allocator.Older(cached.ResourceVersion, mine.ResourceVersion) {
		t.forget(client.ObjectKeyFromObject(obj))
	}
}

// orNewer returns what the cache shows, or what the claim has made of it where the cache has not heard of that.
func (t *taken) orNewer(obj *metalv1.ServerClaim, cached *metalv1.Server) *metalv1.Server {
	mine := t.by(obj)
	if mine == nil {
		return cached
	}
	if cached.Name == mine.Name && allocator.Older(cached.ResourceVersion, mine.ResourceVersion) {
		return mine
	}
	t.forget(client.ObjectKeyFromObject(obj))
	return cached
}

func (t *taken) forget(claim client.ObjectKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byClaim, claim)
}
