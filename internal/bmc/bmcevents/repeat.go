package bmcevents

import (
	"hash/maphash"
	"time"
)

const (
	// window is how long a repetition is recognised: a BMC tries an event again for seconds or minutes.
	window = 10 * time.Minute
	// maxHeard is how many messages of one BMC are remembered at most.
	maxHeard = 64
)

// heard is what one BMC said lately, oldest first; it overwrites itself. A hash stands for each message: seeded anew
// by each process, it cannot be collided with on purpose.
type heard struct {
	ring []memory
	next int
}

type memory struct {
	hash uint64
	at   int64 // Unix time in nanoseconds: a third of a time.Time, of which there would be 640,000
}

// again reports whether this was heard within the window, and remembers it.
func (h *heard) again(hash uint64, now time.Time) bool {
	for _, m := range h.ring {
		if m.hash == hash && now.UnixNano()-m.at < int64(window) {
			return true
		}
	}
	m := memory{hash, now.UnixNano()}
	if len(h.ring) < maxHeard {
		h.ring = append(h.ring, m)
		return false
	}
	h.ring[h.next] = m
	h.next = (h.next + 1) % maxHeard
	return false
}

// identity is what makes an event the same event when it comes again. The Context of the
// subscription is no part of it: two subscriptions to one destination repeat each other. An event without
// ID and time cannot be told from a second one, and has no identity.
func (e Event) identity(seed maphash.Seed) (uint64, bool) {
	if e.ID == "" && e.Timestamp == "" {
		return 0, false
	}
	return fingerprint(seed, "event", e.ID, e.MemberID, e.MessageID, e.Timestamp, e.Origin), true
}

func (r *Report) identity(seed maphash.Seed) (uint64, bool) {
	if r.Sequence == "" && r.Timestamp == "" {
		return 0, false
	}
	parts := []string{"report", r.ID, r.Sequence, r.Timestamp}
	for _, v := range r.Values { // a long report comes in several messages
		parts = append(parts, v.Metric, v.Source)
	}
	return fingerprint(seed, parts...), true
}

func fingerprint(seed maphash.Seed, parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, part := range parts {
		_, _ = h.WriteString(part)
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}
