package connection

import (
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Candidate is an object with credentials for a BMC. If several objects name one BMC, the credentials and the accepted certificate of one are
// used for all, because a BMC has one session: a BMC object goes before a Server with an inline BMC, then the older one, then the
// one whose name comes first. The status of the others says so.
type Candidate struct {
	// Inline is true of a Server.
	Inline  bool
	Name    string
	Created time.Time
}

// String names the candidate for people.
func (h Candidate) String() string {
	if h.Inline {
		return "Server " + h.Name
	}
	return "BMC " + h.Name
}

// before reports whether h has precedence over o.
func (h Candidate) before(o Candidate) bool {
	switch {
	case h.Inline != o.Inline:
		return !h.Inline
	case !h.Created.Equal(o.Created):
		return h.Created.Before(o.Created)
	}
	return h.Name < o.Name
}

// candidacy is a candidate with its credentials. It is kept as a pointer, so that formatting a Registry shows no password.
type candidacy struct {
	Candidate
	spec fleet.Spec
}

// Connected is the result of Connect.
type Connected struct {
	Key fleet.Key
	// Before is the key that the candidate was bound to, and Last says that nobody listens to that any longer.
	Before fleet.Key
	Last   bool
	// Counts is the candidate whose credentials and accepted certificate are used, and Certificate the latter.
	Counts      Candidate
	Certificate bmc.AcceptedCertificate
	// Instead names the candidate that counts if its credentials are other than those of the object; empty if they are the same.
	Instead string
}

// Connect binds an object to the BMC of spec, as Bind does, and makes the fleet use the credentials of the first candidate.
// It triggers the other candidates when that changes.
func (r *Registry) Connect(source *trigger.Source, h Candidate, spec fleet.Spec) Connected {
	l, key := listener{source, h.Name}, fleet.Key(spec.Endpoint.Key())
	r.mu.Lock()
	defer r.mu.Unlock()
	connected := Connected{Key: key}
	connected.Before, connected.Last = r.bind(l, key)
	known := r.candidates[l]
	if known == nil || known.Candidate != h || known.spec != spec {
		r.candidates[l] = &candidacy{Candidate: h, spec: spec}
		r.wakeOthers(key, l)
	}
	counts := r.counts(key)
	connected.Counts, connected.Certificate = counts.Candidate, counts.spec.Certificate
	if counts.spec.Credentials != spec.Credentials {
		connected.Instead = counts.String()
	}
	r.fleet.Ensure(counts.spec) // with the mutex locked, so that an older spec does not overwrite a newer one
	return connected
}

// Withdraw ends the candidacy of an object, which stays bound.
func (r *Registry) Withdraw(source *trigger.Source, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.withdraw(listener{source, name})
}

func (r *Registry) withdraw(l listener) {
	if _, connected := r.candidates[l]; connected {
		delete(r.candidates, l)
		r.wakeOthers(r.keyOf[l], l)
	}
}

// counts returns the first candidate of a BMC; there is one.
func (r *Registry) counts(key fleet.Key) *candidacy {
	var first *candidacy
	for _, l := range r.byKey[key] {
		if h := r.candidates[l]; h != nil && (first == nil || h.before(first.Candidate)) {
			first = h
		}
	}
	return first
}

// wakeOthers triggers the other candidates of a BMC.
func (r *Registry) wakeOthers(key fleet.Key, than listener) {
	for _, l := range r.byKey[key] {
		if l != than && r.candidates[l] != nil {
			l.source.Wake("", l.name)
		}
	}
}

// NamedByBMC reports whether the credentials for the BMC at key are those of a BMC object.
func (r *Registry) NamedByBMC(key fleet.Key) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	h := r.counts(key)
	return h != nil && !h.Inline
}
