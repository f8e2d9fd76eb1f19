package bootdelivery

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxAcknowledged bounds how many attempts are remembered; the oldest are forgotten. A fleet has one
// open attempt a server.
const maxAcknowledged = 1 << 18

// acknowledged is the set of attempts that the boot view has learnt of.
type acknowledged struct {
	mu    sync.Mutex
	known map[string]struct{}
	order []string
}

// add reports whether the attempt is new.
func (a *acknowledged) add(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.known[id]; known {
		return false
	}
	if a.known == nil {
		a.known = map[string]struct{}{}
	}
	if len(a.order) == maxAcknowledged {
		for _, old := range a.order[:maxAcknowledged/2] {
			delete(a.known, old)
		}
		a.order = append([]string(nil), a.order[maxAcknowledged/2:]...)
	}
	a.known[id] = struct{}{}
	a.order = append(a.order, id)
	return true
}

func (a *acknowledged) has(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, known := a.known[id]
	return known
}

// initialSync knows which boot configs existed at the start and have not been rendered yet. Until they
// all are, the view must not say that a machine is unknown.
type initialSync struct {
	mu      sync.Mutex
	missing map[string]struct{}
	early   map[string]struct{}
	synced  func()
	// failures counts how often an object of the start could not be read.
	failures map[string]int
}

// maxFailures is how often what an object refers to is asked for before everybody else is answered without it: some ten seconds,
// with the pauses between. An API that is away for longer has more than that to do before anybody is answered.
const maxFailures = 10

// tried reports whether the wait for an object's content is over: the API has refused it, it was asked for often enough, or the
// object was served before and goes on being served as it was. The last is no end of the wait: false.
func (s *initialSync) tried(name string, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.awaits(name) {
		return false
	}
	if apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) {
		return true
	}
	if s.failures == nil {
		s.failures = map[string]int{}
	}
	s.failures[name]++
	return s.failures[name] >= maxFailures
}

// awaits reports whether an object has never been looked at. Its caller holds mu.
func (s *initialSync) awaits(name string) bool {
	if s.synced == nil {
		_, looked := s.early[name]
		return !looked
	}
	_, awaited := s.missing[name]
	return awaited
}

// begin names what has to be rendered first; synced is called when it has been.
func (s *initialSync) begin(names []string, synced func()) {
	s.mu.Lock()
	s.missing = map[string]struct{}{}
	for _, n := range names {
		if _, done := s.early[n]; !done {
			s.missing[n] = struct{}{}
		}
	}
	s.early, s.synced = nil, synced
	complete := len(s.missing) == 0
	s.mu.Unlock()
	if complete {
		synced()
	}
}

// done says that an object has been looked at.
func (s *initialSync) done(name string) {
	s.mu.Lock()
	if s.synced == nil {
		if s.early == nil {
			s.early = map[string]struct{}{}
		}
		s.early[name] = struct{}{}
		s.mu.Unlock()
		return
	}
	if _, awaited := s.missing[name]; !awaited {
		s.mu.Unlock()
		return
	}
	delete(s.missing, name)
	complete := len(s.missing) == 0
	if complete {
		s.failures = nil
	}
	s.mu.Unlock()
	if complete {
		s.synced()
	}
}

// answering is since when the boot server of this process answers machines: it accepts connections, and the view knows every machine.
type answering struct {
	mu              sync.Mutex
	listens, synced bool
	since           time.Time
}

func (a *answering) note(now time.Time, fact *bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if *fact = true; a.since.IsZero() && a.listens && a.synced {
		a.since = now
	}
}

// Listens says that the boot server accepts connections.
func (d *Delivery) Listens() { d.answering.note(d.Clock.Now(), &d.answering.listens) }

// synced says that the view knows every machine.
func (d *Delivery) synced() {
	d.answering.note(d.Clock.Now(), &d.answering.synced)
	d.View.SetSynced(true)
}

// Answering is since when this process answers machines; zero: it does not yet. What a machine asked for before that, nobody
// may have answered.
func (d *Delivery) Answering() time.Time {
	d.answering.mu.Lock()
	defer d.answering.mu.Unlock()
	return d.answering.since
}

// syncer marks the view as synchronised when everything that exists has been rendered.
type syncer struct {
	delivery *Delivery
	cache    cache.Cache
	kinds    []listed
}

// listed is a kind whose objects the view holds.
type listed struct {
	name string
	list func() client.ObjectList
}

// Start is called by the manager.
func (s *syncer) Start(ctx context.Context) error {
	if !s.cache.WaitForCacheSync(ctx) {
		return nil
	}
	var names []string
	for _, k := range s.kinds {
		list := k.list()
		if err := s.cache.List(ctx, list); err != nil {
			return fmt.Errorf("list %ss: %w", k.name, err)
		}
		for _, item := range items(list) {
			names = append(names, entryName(k.name, item.GetNamespace(), item.GetName()))
		}
	}
	derived, err := s.delivery.derivedNames(ctx, s.cache)
	if err != nil {
		return fmt.Errorf("list ServerBootConfigurations: %w", err)
	}
	s.delivery.initial.begin(append(names, derived...), s.delivery.synced)
	return nil
}
