package bmcevents

import (
	"container/list"
	"strings"
	"sync"
	"time"
)

// Limits bound the number of Prometheus series. Where one is reached, the series that was not
// touched for the longest time makes room; a counter that comes back begins at zero, which
// Prometheus takes for a restart.
type Limits struct {
	PerBMC int // 64
	Total  int // 50,000
}

func (l Limits) withDefaults() Limits {
	if l.PerBMC <= 0 {
		l.PerBMC = 64
	}
	if l.Total <= 0 {
		l.Total = 50000
	}
	return l
}

const (
	// valueAge is how long a metric is shown that its BMC does not report any more.
	valueAge = time.Hour
	// maxLabel is how much of what a BMC calls something stands in a label.
	maxLabel = 128
)

// label is what tells series of one BMC apart.
type label struct {
	metric bool   // a metric of a report; else a number of events
	a, b   string // metric and source; severity and message
}

type series struct {
	owner *owner
	label label
	value float64
	used  time.Time
	place *list.Element
}

// owner is a BMC with its series.
type owner struct {
	name   string
	series map[label]*series
}

// store holds all series.
type store struct {
	limits Limits

	mu      sync.Mutex
	order   *list.List // of *series, the one touched last at the front
	evicted uint64
}

func newStore(l Limits) *store {
	return &store{limits: l.withDefaults(), order: list.New()}
}

// count adds one to the events of a kind.
func (s *store) count(o *owner, e Event, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touch(o, label{a: string(e.Severity), b: MessageClass(e.MessageID)}, now).value++
}

// set takes over the values of a report.
func (s *store) set(o *owner, values []Value, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		s.touch(o, label{metric: true, a: sanitize(v.Metric), b: sanitize(v.Source)}, now).value = v.Number
	}
}

// drop forgets a BMC.
func (s *store) drop(o *owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range o.series {
		s.remove(each)
	}
}

// touch returns a series, which is made where there is none.
func (s *store) touch(o *owner, l label, now time.Time) *series {
	found := o.series[l]
	if found != nil {
		found.used = now
		s.order.MoveToFront(found.place)
		return found
	}
	if len(o.series) >= s.limits.PerBMC {
		s.evict(o.oldest())
	}
	if s.order.Len() >= s.limits.Total {
		s.evict(s.order.Back().Value.(*series))
	}
	if o.series == nil {
		o.series = map[label]*series{}
	}
	l.a, l.b = strings.Clone(l.a), strings.Clone(l.b) // else a few letters keep a message in memory
	found = &series{owner: o, label: l, used: now}
	found.place = s.order.PushFront(found)
	o.series[l] = found
	return found
}

func (o *owner) oldest() *series {
	var oldest *series
	for _, each := range o.series {
		if oldest == nil || each.used.Before(oldest.used) {
			oldest = each
		}
	}
	return oldest
}

func (s *store) evict(victim *series) {
	s.evicted++
	s.remove(victim)
}

func (s *store) remove(gone *series) {
	s.order.Remove(gone.place)
	delete(gone.owner.series, gone.label)
}

// sample is one series at one time.
type sample struct {
	label
	bmc   string
	value float64
}

// samples returns what is to be shown, and forgets metrics that have grown old.
func (s *store) samples(now time.Time) (shown []sample, evicted uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown = make([]sample, 0, s.order.Len())
	for place := s.order.Front(); place != nil; {
		each := place.Value.(*series)
		place = place.Next()
		if each.label.metric && now.Sub(each.used) > valueAge {
			s.remove(each)
			continue
		}
		shown = append(shown, sample{each.label, each.owner.name, each.value})
	}
	return shown, s.evicted
}

// MessageClass is a MessageId without the version of its registry, so that an update of the firmware makes
// no new series: "ResourceEvent.1.3.TestMessage" is "ResourceEvent.TestMessage".
func MessageClass(id string) string {
	parts := strings.Split(id, ".")
	kept := parts[:0]
	for _, part := range parts {
		if strings.Trim(part, "0123456789") != "" {
			kept = append(kept, part)
		}
	}
	return sanitize(strings.Join(kept, "."))
}

// sanitize keeps what occurs in identifiers and URIs. All else is of no use in a label and might
// be meant to do harm where it is shown.
func sanitize(s string) string {
	if len(s) > maxLabel {
		s = s[:maxLabel]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-:/#@", r):
			return r
		}
		return '_'
	}, s)
}
