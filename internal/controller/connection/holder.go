package connection

import (
	"time"

	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Holder is an object that says with which credentials a BMC is to be asked. Several may speak of one BMC, and then one
// counts for all: a BMC object before a Server with an inline BMC, then the older one, then the one whose name
// comes first. The others are asked with its credentials too, for a BMC has one session; they are told.
type Holder struct {
	// Inline is true of a Server.
	Inline  bool
	Name    string
	Created time.Time
}

// String names the holder for people.
func (h Holder) String() string {
	if h.Inline {
		return "Server " + h.Name
	}
	return "BMC " + h.Name
}

// before says whether h counts, and not o.
func (h Holder) before(o Holder) bool {
	switch {
	case h.Inline != o.Inline:
		return !h.Inline
	case !h.Created.Equal(o.Created):
		return h.Created.Before(o.Created)
	}
	return h.Name < o.Name
}

// holding is what a holder says. It is kept as a pointer, so that formatting a Registry shows no password.
type holding struct {
	Holder
	spec fleet.Spec
}

// Held is what became of what a holder said.
type Held struct {
	Key fleet.Key
	// Before is the key that the holder was bound to, and Last says that nobody listens to that any longer.
	Before fleet.Key
	Last   bool
	// By is who counts in place of the holder, with other credentials; empty if its own are used.
	By string
}

// Hold binds an object to the BMC of spec, as Bind does, and has the BMC asked with the credentials of the holder that
// counts. The others are woken when that changes.
func (r *Registry) Hold(source *trigger.Source, h Holder, spec fleet.Spec) Held {
	l, key := listener{source, h.Name}, fleet.Key(spec.Endpoint.Key())
	r.mu.Lock()
	defer r.mu.Unlock()
	held := Held{Key: key}
	held.Before, held.Last = r.bind(l, key)
	known := r.holdings[l]
	if known == nil || known.Holder != h || known.spec != spec {
		r.holdings[l] = &holding{Holder: h, spec: spec}
		r.wakeOthers(key, l)
	}
	counts := r.counts(key)
	if counts.spec.Credentials != spec.Credentials {
		held.By = counts.String()
	}
	r.fleet.Ensure(counts.spec) // under the lock: what an older look found must not come later
	return held
}

// Release takes back what an object said, which stays bound.
func (r *Registry) Release(source *trigger.Source, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release(listener{source, name})
}

func (r *Registry) release(l listener) {
	if _, held := r.holdings[l]; held {
		delete(r.holdings, l)
		r.wakeOthers(r.keyOf[l], l)
	}
}

// counts is the holding of a BMC that counts; there is one.
func (r *Registry) counts(key fleet.Key) *holding {
	var first *holding
	for l := range r.byKey[key] {
		if h := r.holdings[l]; h != nil && (first == nil || h.before(first.Holder)) {
			first = h
		}
	}
	return first
}

// wakeOthers wakes the other holders of a BMC.
func (r *Registry) wakeOthers(key fleet.Key, than listener) {
	for l := range r.byKey[key] {
		if l != than && r.holdings[l] != nil {
			l.source.Wake("", l.name)
		}
	}
}

// HeldByBMC says whether a BMC object speaks of the BMC at key.
func (r *Registry) HeldByBMC(key fleet.Key) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	h := r.counts(key)
	return h != nil && !h.Inline
}
