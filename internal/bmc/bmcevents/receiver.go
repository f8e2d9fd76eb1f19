package bmcevents

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Options of a receiver.
type Options struct {
	Paths  Paths
	Clock  clock.Clock
	Logger logr.Logger
	Limits Limits
	// Notify is told which events of a BMC, by its name, were not heard before. It must not block.
	Notify func(name string, events []Event)
	// MaxMessages is how many messages are read at the same time; 64 where zero.
	MaxMessages int
	// Hosts are the names under which BMCs reach the receiver (package hostcheck).
	Hosts []string
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Notify == nil {
		o.Notify = func(string, []Event) {}
	}
	if o.MaxMessages <= 0 {
		o.MaxMessages = 64
	}
	return o
}

// Receiver takes what BMCs send. It is an http.Handler, and a prometheus.Collector of what it
// was told.
type Receiver struct {
	options  Options
	seed     maphash.Seed
	slots    chan struct{} // one token for each message being read
	store    *store
	results  *prometheus.CounterVec
	timeouts timeouts

	mu     sync.RWMutex
	byUID  map[string]*sender
	byName map[string]string // UID
}

// sender is a BMC that is listened to.
type sender struct {
	owner *owner

	mu      sync.Mutex
	reading int // messages being read now
	gone    bool
	heard   heard
}

// New returns a receiver that listens to nobody yet.
func New(o Options) *Receiver {
	o = o.withDefaults()
	return &Receiver{
		options: o, seed: maphash.MakeSeed(), slots: make(chan struct{}, o.MaxMessages), store: newStore(o.Limits),
		results: newResults(), timeouts: defaultTimeouts, byUID: map[string]*sender{}, byName: map[string]string{},
	}
}

// Listen says that there is a BMC of that UID. Its name stands in its series; another BMC that had
// the name before is forgotten.
func (r *Receiver) Listen(uid, name string) {
	r.mu.RLock()
	_, known := r.byUID[uid]
	r.mu.RUnlock()
	if known {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.byUID[uid]; known {
		return
	}
	if before, taken := r.byName[name]; taken {
		r.forget(before)
	}
	r.byUID[uid] = &sender{owner: &owner{name: name}}
	r.byName[name] = uid
}

// Knows reports whether there is a BMC of that UID.
func (r *Receiver) Knows(uid string) bool { return r.sender(uid) != nil }

// Forget says that the BMC of that name is no more, and ends its series.
func (r *Receiver) Forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if uid, known := r.byName[name]; known {
		r.forget(uid)
	}
}

func (r *Receiver) forget(uid string) {
	s := r.byUID[uid]
	delete(r.byUID, uid)
	delete(r.byName, s.owner.name)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.store.drop(s.owner)
	s.gone = true // a message that is being read now makes no new series
}

func (r *Receiver) sender(uid string) *sender {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byUID[uid]
}

// take deals with a message, and reports whether any of it was new.
func (r *Receiver) take(s *sender, m Message) bool {
	fresh, news := r.sift(s, m, r.options.Clock.Now())
	if len(fresh) > 0 {
		r.options.Notify(s.owner.name, fresh)
	}
	return news
}

// sift keeps what was not heard before, and exports it.
func (r *Receiver) sift(s *sender, m Message, now time.Time) (fresh []Event, news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil, false
	}
	for _, e := range m.Events {
		if id, ok := e.identity(r.seed); ok && s.heard.again(id, now) {
			continue
		}
		r.store.count(s.owner, e, now)
		fresh = append(fresh, e)
	}
	if m.Report != nil {
		if id, ok := m.Report.identity(r.seed); !ok || !s.heard.again(id, now) {
			r.store.set(s.owner, m.Report.Values, now)
			news = true
		}
	}
	return fresh, news || len(fresh) > 0 || len(m.Events) == 0 && m.Report == nil
}

// begin lets a BMC have a few messages on the way at a time, so that one that sends slowly does not
// take the room of all.
func (s *sender) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading >= maxOfOne {
		return false
	}
	s.reading++
	return true
}

func (s *sender) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading--
}
