package fault

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// State reports whether a fault strikes.
type State string

// The states of a fault, in order.
const (
	Pending State = "pending" // its After is not over
	Active  State = "active"
	Over    State = "over" // its For is
)

// Entry is a fault that was set.
type Entry struct {
	ID string `json:"id"`
	Spec
	// Struck are the numbers of the BMCs that it strikes, in order.
	Struck []int     `json:"struck"`
	Since  time.Time `json:"since"`
	State  State     `json:"state"`
}

// Table holds the faults of a rack.
type Table struct {
	seed  int64
	clock clock.PassiveClock

	mu      sync.Mutex
	next    int
	entries []*entry
	// of holds the faults of each BMC. Readers take no lock.
	of []atomic.Pointer[[]*strike]
}

type entry struct {
	compiled
	id     string
	since  time.Time
	struck []int // indices
}

// strike is one fault at one BMC.
type strike struct {
	*entry
	bmc   int
	draws atomic.Uint64
}

// Strike is a fault that strikes now.
type Strike struct {
	ID    string
	Value Value
	// Since is when it began to strike.
	Since time.Time
}

// maxEntries bounds how many faults a rack has at once.
const maxEntries = 1000

// NewTable makes the table of a rack of that many BMCs.
func NewTable(seed int64, bmcs int, now clock.PassiveClock) *Table {
	return &Table{seed: seed, clock: now, of: make([]atomic.Pointer[[]*strike], bmcs)}
}

// Set adds a fault. What was set before stays.
func (t *Table) Set(s Spec) (Entry, error) {
	c, err := s.compile(len(t.of))
	if err != nil {
		return Entry{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.entries) >= maxEntries {
		return Entry{}, fmt.Errorf("there are %d faults already", maxEntries)
	}
	t.next++
	e := &entry{compiled: c, id: fmt.Sprintf("f%d", t.next), since: t.clock.Now()}
	e.struck = t.choose(e)
	t.entries = append(t.entries, e)
	for _, i := range e.struck {
		t.replace(i, append(t.strikes(i), &strike{entry: e, bmc: i}))
	}
	return t.describe(e), nil
}

// Clear ends a fault. ok is false where there is none of that id.
func (t *Table) Clear(id string) (e Entry, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.IndexFunc(t.entries, func(e *entry) bool { return e.id == id })
	if at < 0 {
		return Entry{}, false
	}
	gone := t.entries[at]
	t.entries = slices.Delete(t.entries, at, at+1)
	for _, i := range gone.struck {
		t.replace(i, slices.DeleteFunc(t.strikes(i), func(s *strike) bool { return s.entry == gone }))
	}
	return t.describe(gone), true
}

// List is all faults that were set and not cleared, oldest first.
func (t *Table) List() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]Entry, 0, len(t.entries))
	for _, e := range t.entries {
		out = append(out, t.describe(e))
	}
	return out
}

// Any reports whether BMC i has faults at all, pending and past ones included.
func (t *Table) Any(i int) bool { return t.of[i].Load() != nil }

// Strikes reports whether a fault of a kind strikes at BMC i now. The oldest counts.
// The path is that of the request; empty where there is none.
func (t *Table) Strikes(i int, kind Kind, path string) (Strike, bool) {
	list := t.of[i].Load()
	if list == nil {
		return Strike{}, false
	}
	for _, s := range *list {
		if s.Kind == kind && t.state(s.entry) == Active && (s.path == nil || s.path.MatchString(path)) && t.luck(s) {
			return Strike{ID: s.id, Value: s.value, Since: s.since.Add(time.Duration(s.After))}, true
		}
	}
	return Strike{}, false
}

func (t *Table) state(e *entry) State {
	switch since := t.clock.Since(e.since) - time.Duration(e.After); {
	case since < 0:
		return Pending
	case e.For > 0 && since >= time.Duration(e.For):
		return Over
	default:
		return Active
	}
}

// strikes is a copy that the caller may change.
func (t *Table) strikes(i int) []*strike {
	if list := t.of[i].Load(); list != nil {
		return slices.Clone(*list)
	}
	return nil
}

func (t *Table) replace(i int, list []*strike) {
	if len(list) == 0 {
		t.of[i].Store(nil)
		return
	}
	t.of[i].Store(&list)
}

// choose finds the BMCs that a fault strikes. A share is rounded to whole BMCs,
// those with the lowest draws; one that is not 0 strikes at least one.
func (t *Table) choose(e *entry) []int {
	var out []int
	if e.Share == 0 {
		for _, n := range e.BMCs {
			out = append(out, n-1)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	all, draws := make([]int, len(t.of)), make([]uint64, len(t.of))
	for i := range all {
		all[i], draws[i] = i, t.draw(e.id, i, 0)
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(draws[a], draws[b]) })
	n := max(1, int(math.Round(e.Share*float64(len(all)))))
	out = all[:min(n, len(all))]
	slices.Sort(out)
	return out
}

// luck draws for one request.
func (t *Table) luck(s *strike) bool {
	if s.Chance == 0 {
		return true
	}
	return float64(t.draw(s.id, s.bmc, s.draws.Add(1)))/math.MaxUint64 < s.Chance
}

// draw is a number that follows from the seed, the fault, the BMC and a count.
func (t *Table) draw(id string, bmc int, count uint64) uint64 {
	h := sha256.Sum256(fmt.Appendf(nil, "farrier fault %d %s %d %d", t.seed, id, bmc, count))
	return binary.BigEndian.Uint64(h[:8])
}

func (t *Table) describe(e *entry) Entry {
	out := Entry{ID: e.id, Spec: e.Spec, Since: e.since, State: t.state(e), Struck: make([]int, 0, len(e.struck))}
	for _, i := range e.struck {
		out.Struck = append(out.Struck, i+1)
	}
	return out
}
