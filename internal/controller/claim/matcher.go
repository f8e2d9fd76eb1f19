package claim

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/allocator"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
)

// gathering is how long the matcher waits for what comes together: claims that are applied from one file,
// servers of one rack. It is short beside what a claim waits for its machine.
const gathering = 10 * time.Millisecond

// matcher is the worker that gives servers to claims.
type matcher struct {
	pool  *allocator.Pool
	clock clock.Clock
	// claims wakes those that were given a server, or have to be told that there is none.
	claims trigger.Source
	signal chan struct{}
}

func newMatcher(pool *allocator.Pool, c clock.Clock) *matcher {
	return &matcher{pool: pool, clock: c, signal: make(chan struct{}, 1)}
}

// wake has the matcher look. It never blocks.
func (m *matcher) wake() {
	select {
	case m.signal <- struct{}{}:
	default: // it is going to look anyway
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

// match gives out what can be given and wakes whom it concerns, whom it returns.
func (m *matcher) match() []types.NamespacedName {
	given, concerned := m.pool.Match()
	for _, g := range given {
		concerned = append(concerned, g.Claim)
	}
	for _, name := range concerned {
		m.claims.Wake(name.Namespace, name.Name)
	}
	return concerned
}
