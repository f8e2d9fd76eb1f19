package claim

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
)

// gathering is how long the matcher waits for more claims, as of one file, or servers, as of one rack. It is short compared to the boot
// of a machine.
const gathering = 10 * time.Millisecond

// matcher is the worker that assumes servers for claims.
type matcher struct {
	pool  *allocator.Pool
	clock clock.Clock
	// claims queues claims that a server is assumed for, or that have to explain that there is none.
	claims trigger.Source
	signal chan struct{}
}

func newMatcher(pool *allocator.Pool, c clock.Clock) *matcher {
	return &matcher{pool: pool, clock: c, signal: make(chan struct{}, 1)}
}

// wake triggers a match. It never blocks.
func (m *matcher) wake() {
	select {
	case m.signal <- struct{}{}:
	default: // a match is due anyway
	}
}

// Start runs until ctx ends. It is a Runnable of the manager, of its leader only.
func (m *matcher) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.signal:
		}
		timer := m.clock.NewTimer(gathering)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
			m.match()
		}
	}
}

// match runs one match, queues the claims that it concerns, and returns them.
func (m *matcher) match() []types.NamespacedName {
	assumed, concerned := m.pool.Match()
	for _, a := range assumed {
		concerned = append(concerned, a.Claim)
	}
	for _, name := range concerned {
		m.claims.Wake(name.Namespace, name.Name)
	}
	return concerned
}
