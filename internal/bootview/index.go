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
type index struct {
	kinds [keyKinds][shards]shard
}

const shards = 256

type shard struct {
	mu sync.RWMutex
	// slots are by the data of keys of one kind.
	slots map[[16]byte]slot
}

// slot is what one identifier stands for.
type slot struct {
	machine  *Machine
	carriers *carriers // nil: nobody; for writers, who have View.mu
}

// carriers are the entries that carry an identifier, sorted by name. They are never changed in place. The identifiers of one machine have the same
// carriers, mostly, and share them.
type carriers []*entry

// of is nil for none.
func (c *carriers) of() []*entry {
	if c == nil {
		return nil
	}
	return *c
}

// shard picks by the octets that vary most: the end of UUIDs, MACs and addresses that
// are given out in a row. It only has to spread, not to resist anybody.
func (x *index) shard(k key) *shard {
	h := uint(k.kind)
	for _, b := range k.data {
		h = h*31 + uint(b)
	}
	return &x.kinds[k.kind][h%shards]
}

// machine is what readers ask for.
func (x *index) machine(k key) *Machine {
	s := x.shard(k)
	s.mu.RLock()
	m := s.slots[k.data].machine
	s.mu.RUnlock()
	return m
}

// setMachine changes the answer of an identifier that has a slot.
func (x *index) setMachine(k key, m *Machine) {
	s := x.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if sl, ok := s.slots[k.data]; ok {
		sl.machine = m
		s.slots[k.data] = sl
	}
}

// entries returns who carries an identifier.
func (x *index) entries(k key) []*entry {
	s := x.shard(k)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.slots[k.data].carriers.of()
}

// link adds e under its identifiers, in the place of the entry of its name. Answers stay what they are.
func (x *index) link(e *entry) {
	change := onceEach(e.addedTo)
	for _, k := range e.keys {
		x.edit(k, change)
	}
}

// unlink takes e away, unless next, which may be nil, is about to take its place. A slot without entries stays, with its answer, until drop.
func (x *index) unlink(e, next *entry) {
	change := onceEach(e.takenFrom)
	for _, k := range e.keys {
		if next == nil || !slices.Contains(next.keys, k) {
			x.edit(k, change)
		}
	}
}

// onceEach makes of the same carriers the same, not others that are equal.
func onceEach(change func(*carriers) *carriers) func(*carriers) *carriers {
	var before, after *carriers
	done := false
	return func(c *carriers) *carriers {
		if !done || c != before {
			before, after, done = c, change(c), true
		}
		return after
	}
}

// addedTo is what a slot has with e. A slot that has e alone, as most do, needs no memory of its own.
func (e *entry) addedTo(c *carriers) *carriers {
	entries := c.of()
	i, known := slices.BinarySearchFunc(entries, e.name, byName)
	switch {
	case len(entries) == 0, len(entries) == 1 && known:
		e.self[0] = e
		e.alone = e.self[:]
		return &e.alone
	case known:
		entries = slices.Clone(entries)
		entries[i] = e
	default:
		entries = slices.Insert(slices.Clip(entries), i, e)
	}
	return (*carriers)(&entries)
}

// takenFrom is what a slot has without e.
func (e *entry) takenFrom(c *carriers) *carriers {
	entries := c.of()
	i, known := slices.BinarySearchFunc(entries, e.name, byName)
	switch {
	case !known:
		return c
	case len(entries) == 1:
		return nil
	}
	rest := carriers(slices.Concat(entries[:i], entries[i+1:]))
	return &rest
}

func (x *index) edit(k key, change func(*carriers) *carriers) {
	s := x.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots == nil {
		s.slots = make(map[[16]byte]slot)
	}
	sl := s.slots[k.data]
	sl.carriers = change(sl.carriers)
	s.slots[k.data] = sl
}

// drop removes the slot of an identifier that nobody carries any more.
func (x *index) drop(k key) {
	s := x.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.slots, k.data)
}

func byName(e *entry, name string) int { return strings.Compare(e.name, name) }
