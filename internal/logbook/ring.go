package logbook

import (
	"slices"
	"time"
)

// ring has the newest entries. It grows to its limit, and then forgets the oldest entry with each new one.
type ring struct {
	limit int
	slots []slot
	next  int // the oldest, once it is full
}

// slot is an Entry in memory. There are many, so it is small: few are of a boot, and a time is a number.
type slot struct {
	id, at                                int64 // at: nanoseconds since 1970
	took                                  time.Duration
	subject, what, object, reason, detail string
	kind                                  Kind
	boot                                  *boot
	bad                                   bool
}

// boot is what only entries of a boot have.
type boot struct {
	attempt, address string
	status           int
	bytes            int64
}

func slotOf(e *Entry) slot {
	s := slot{
		id: e.ID, at: e.Time.UnixNano(), took: e.Took, kind: e.Kind, bad: e.Bad,
		subject: e.Subject, what: e.What, object: e.Object, reason: e.Reason, detail: e.Detail,
	}
	if b := (boot{e.Attempt, e.Address, e.Status, e.Bytes}); b != (boot{}) {
		s.boot = &b
	}
	return s
}

func (s *slot) entry() Entry {
	e := Entry{
		ID: s.id, Time: time.Unix(0, s.at), Took: s.took, Kind: s.kind, Bad: s.bad,
		Subject: s.subject, What: s.what, Object: s.object, Reason: s.reason, Detail: s.detail,
	}
	if b := s.boot; b != nil {
		e.Attempt, e.Address, e.Status, e.Bytes = b.attempt, b.address, b.status, b.bytes
	}
	return e
}

func (r *ring) add(e *Entry) {
	n := len(r.slots)
	if n == r.limit {
		r.slots[r.next] = slotOf(e)
		r.next = (r.next + 1) % n
		return
	}
	if n == cap(r.slots) { // not beyond what is ever needed, as append would
		r.slots = append(make([]slot, 0, min(max(2*n, 64), r.limit)), r.slots...)
	}
	r.slots = append(r.slots, slotOf(e))
}

// about are the entries about any of the subjects, the oldest first, and the ID of the oldest entry of all; zero: there is none.
func (r *ring) about(subjects []string) (found []Entry, oldest int64) {
	for i := range r.slots {
		s := &r.slots[(r.next+i)%len(r.slots)]
		if i == 0 {
			oldest = s.id
		}
		if slices.Contains(subjects, s.subject) {
			found = append(found, s.entry())
		}
	}
	return found, oldest
}
