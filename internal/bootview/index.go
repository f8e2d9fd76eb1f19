package bootview

import (
	"slices"
	"strings"
	"sync"
)

// index has a slot for every identifier that an entry carries.
//
// It is cut into shards so that readers on many processors do not meet, and because
// nobody waits long for the lock of one: it is held for a look into a map, never while
// something is decided. What a slot holds stands in the map itself: an answer costs few steps
// through memory, and with 100,000 machines each step is a cache miss.
type index struct{ shards [shards]shard }

const shards = 256

type shard struct {
	mu    sync.RWMutex
	slots map[key]slot
}

// slot is what one identifier stands for.
type slot struct {
	machine *Machine
	entries []*entry // sorted by name, never changed in place; for writers, who have View.mu
}

// shard picks by the octets that vary most: the end of UUIDs, MACs and addresses that
// are given out in a row. It only has to spread, not to resist anybody.
func (x *index) shard(k key) *shard {
	h := uint(k.kind)
	for _, b := range k.data {
		h = h*31 + uint(b)
	}
	return &x.shards[h%shards]
}

// machine is what readers ask for.
func (x *index) machine(k key) *Machine {
	s := x.shard(k)
	s.mu.RLock()
	m := s.slots[k].machine
	s.mu.RUnlock()
	return m
}

// setMachine changes the answer of an identifier that has a slot.
func (x *index) setMachine(k key, m *Machine) {
	s := x.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if sl, ok := s.slots[k]; ok {
		sl.machine = m
		s.slots[k] = sl
	}
}

// entries returns who carries an identifier.
func (x *index) entries(k key) []*entry {
	s := x.shard(k)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.slots[k].entries
}

// link adds e under its identifiers, in the place of the entry of its name. Answers stay what they are.
func (x *index) link(e *entry) {
	for _, k := range e.keys {
		x.edit(k, e.addedTo)
	}
}

// unlink takes e away, unless next, which may be nil, is about to take its place. A slot without entries stays, with its answer, until drop.
func (x *index) unlink(e, next *entry) {
	for _, k := range e.keys {
		if next == nil || !slices.Contains(next.keys, k) {
			x.edit(k, e.takenFrom)
		}
	}
}

// addedTo is what a slot has with e; slices of slots are never changed. A slot that has e alone, as most do, needs no memory of its own.
func (e *entry) addedTo(entries []*entry) []*entry {
	i, known := slices.BinarySearchFunc(entries, e.name, byName)
	switch {
	case len(entries) == 0, len(entries) == 1 && known:
		e.alone[0] = e
		return e.alone[:]
	case known:
		entries = slices.Clone(entries)
		entries[i] = e
		return entries
	}
	return slices.Insert(slices.Clip(entries), i, e)
}

// takenFrom is what a slot has without e.
func (e *entry) takenFrom(entries []*entry) []*entry {
	i, known := slices.BinarySearchFunc(entries, e.name, byName)
	switch {
	case !known:
		return entries
	case len(entries) == 1:
		return nil
	}
	return slices.Concat(entries[:i], entries[i+1:])
}

func (x *index) edit(k key, change func([]*entry) []*entry) {
	s := x.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots == nil {
		s.slots = make(map[key]slot)
	}
	sl := s.slots[k]
	sl.entries = change(sl.entries)
	s.slots[k] = sl
}

// drop removes the slot of an identifier that nobody carries any more.
func (x *index) drop(k key) {
	s := x.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.slots, k)
}

func byName(e *entry, name string) int { return strings.Compare(e.name, name) }
