package subscription

import (
	"errors"
	"fmt"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// look takes the result of the last job, orders the next when it is due, and describes what is
// known. It returns when to come back without being woken.
func (r *Reconciler) look(s subject, key fleet.Key) (time.Duration, error) {
	if r.Receiver != nil {
		r.Receiver.Listen(s.uid, s.id)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.memory(s)
	if m.deleted { // the cache is behind
		return 0, nil
	}
	r.Registry.Bind(r.source(s), s.name, key)
	now := r.Clock.Now()
	wait, err := r.lookAfter(s, m, key, now)
	if soon := r.refreshHardware(m, key, now); soon > 0 && (wait == 0 || soon < wait) {
		wait = soon
	}
	return wait, err
}

func (r *Reconciler) lookAfter(s subject, m *memory, key fleet.Key, now time.Time) (time.Duration, error) {
	if !m.take(r.Fleet, key, now) {
		return jobCheck, nil
	}
	if m.found != nil {
		s.describe(m)
	}
	if r.URL == "" && m.found != nil && m.failures == 0 {
		return 0, nil // nothing of ours is there, and nobody makes anything
	}
	observation, known := r.Fleet.Observe(key)
	if !known || observation.Sequence == 0 || observation.Err != nil {
		m.absent = m.absent || observation.Err != nil
		return 0, nil
	}
	due := m.due()
	if r.URL == "" && !s.linked && m.found == nil {
		due = m.born.Add(m.sometime())
	}
	if wait := due.Sub(now); wait > 0 {
		if soon := r.follow(m, key, observation, now); soon > 0 {
			wait = min(wait, soon)
		}
		return wait, nil
	}
	return jobCheck, r.order(m, key, r.URL)
}

// order submits a job, r.mu locked; the change of the observation at its end wakes the object.
func (r *Reconciler) order(m *memory, key fleet.Key, base string) error {
	knows := func(string) bool { return false }
	if r.Receiver != nil {
		knows = r.Receiver.Knows
	}
	r.jobs++
	err := m.order(r.Fleet, key, fmt.Sprint("subscription-", r.jobs), &work{paths: r.Paths, uid: m.uid, base: base, knows: knows})
	if errors.Is(err, fleet.ErrUnknownBMC) {
		return nil // the actor ended just now
	}
	return err
}

// memory returns what is known of a subject's BMC; an object created again begins anew. The caller has locked r.mu.
func (r *Reconciler) memory(s subject) *memory {
	m := r.known[s.id]
	if m == nil || m.uid != s.uid {
		m = &memory{uid: s.uid, account: s.account(), born: r.Clock.Now()}
		if r.known == nil {
			r.known = map[string]*memory{}
		}
		r.known[s.id] = m
	}
	return m
}

func (r *Reconciler) forget(s subject) {
	r.mu.Lock()
	delete(r.known, s.id)
	r.mu.Unlock()
	r.Registry.Release(r.source(s), s.name)
	if r.Receiver != nil {
		r.Receiver.Forget(s.id)
	}
}

// Unsubscribe removes the subscriptions of a BMC that is being deleted, while its actor still runs. It reports
// whether that is over; if not, call it again when the BMC's observation changes, and now and then. A BMC that fails is asked
// again for leaveWithin and then left as it is: the receiver answers its events with 404.
func (r *Reconciler) Unsubscribe(obj *metalv1.BMC, key fleet.Key) (over bool, err error) {
	return r.unsubscribe(ofBMC(obj), key)
}

func (r *Reconciler) unsubscribe(s subject, key fleet.Key) (over bool, err error) {
	if r.Receiver != nil {
		r.Receiver.Forget(s.id)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.memory(s)
	m.deleted = true // before it is unbound: a look that is under way would bind it again
	r.Registry.Unbind(r.source(s), s.name)
	if r.URL == "" && !s.linked {
		return true, nil
	}
	now := r.Clock.Now()
	ended := m.take(r.Fleet, key, now)
	observation, known := r.Fleet.Observe(key)
	switch {
	case !known, m.left, away(observation, now):
		return true, nil
	case observation.Sequence == 0, !ended:
		return false, nil
	case m.leaving.IsZero():
		m.leaving = now
	case now.Sub(m.leaving) >= leaveWithin:
		return true, nil // as well as it could be done
	case now.Sub(m.looked) < leaveAgain:
		return false, nil
	}
	if observation.Err != nil {
		return false, nil // it may be a moment's
	}
	if err := r.order(m, key, ""); err != nil {
		return false, err
	}
	return m.job == "", nil
}

// away reports whether a BMC will hardly answer in the next minute: it has not answered for one, or never, or it refuses Farrier.
func away(o fleet.Observation, now time.Time) bool {
	if o.Err == nil {
		return false
	}
	switch bmc.KindOf(o.Err) {
	case bmc.KindAuthentication, bmc.KindUntrusted:
		return true
	}
	return o.Sequence == 0 || now.Sub(o.ErrSince) >= leaveWithin
}
