package bootstream

import (
	"context"
	"sync"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

const (
	// mostTellers is of how many boot servers a manager knows what they have told it. Their names are those of certificates.
	mostTellers = 1 << 12
	// mostInstances is how many of their processes it knows of each.
	mostInstances = 8
)

// Seen knows which requests a manager has taken, so that a repeated one does not count twice. Its zero value knows none. It is safe for
// concurrent use.
//
// An instance sends one request at a time, with growing numbers, so the last one says it all. Memory is bounded: a boot server that starts
// again and again takes the places of its own earlier instances.
type Seen struct {
	mu sync.Mutex
	by bounded.Map[string, *bounded.Map[string, *taken]]
}

// taken is what an instance has told. turn has room for one request: a repetition waits for what it repeats.
type taken struct {
	turn   chan struct{}
	number uint64
}

// Once calls take for a request that has not been taken. A number is noted when take has succeeded; a request whose take has failed may come
// again.
func (s *Seen) Once(ctx context.Context, peer, instance string, number uint64, take func() error) error {
	t := s.of(peer, instance)
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if number <= t.number {
		return nil
	}
	if err := take(); err != nil {
		return err
	}
	t.number = number
	return nil
}

func (s *Seen) of(peer, instance string) *taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	instances, known := s.by.Get(peer)
	if !known {
		instances = &bounded.Map[string, *taken]{}
		s.by.Put(peer, instances, mostTellers)
	}
	t, known := instances.Get(instance)
	if !known {
		t = &taken{turn: make(chan struct{}, 1)}
		instances.Put(instance, t, mostInstances)
	}
	return t
}
