package bootview

import (
	"maps"
	"slices"
	"strings"
)

// Put adds e, or replaces the entry of the same name.
func (v *View) Put(e Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.replace(v.entries[e.Name], newEntry(e))
}

// Delete removes an entry; one that is not there is no error.
func (v *View) Delete(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if old := v.entries[name]; old != nil {
		v.replace(old, nil)
	}
}

// Conflicts names the entries that keep this one from being served, sorted. An
// entry that a stronger rank hides is in conflict with nobody.
func (v *View) Conflicts(name string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.entries[name]
	if e == nil {
		return nil
	}
	// An entry is also in conflict with what claims an address of its machine
	// that only another entry of the machine names.
	touched := newTouchedKeys()
	touched.collect(v, e)
	keys := slices.Concat(slices.Collect(maps.Keys(touched.uuids)), slices.Collect(maps.Keys(touched.addresses)))
	var names []string
	for _, key := range keys {
		if _, serial := key.(serialKey); serial {
			// Manufacturers repeat serial numbers; that is nobody's mistake here.
			continue
		}
		m := v.slot(key).machine.Load()
		if m == nil || !slices.Contains(m.Conflict, name) {
			continue
		}
		for _, other := range m.Conflict {
			o := v.entries[other]
			together := o.uuid == e.uuid && o.kind() != e.kind()
			if o != e && !together {
				names = append(names, other)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Len is the number of entries.
func (v *View) Len() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.entries)
}

// replace takes old out, puts next in, and decides again whatever either of them
// has a part in. Either may be nil.
func (v *View) replace(old, next *entry) {
	touched := newTouchedKeys()
	if old != nil {
		touched.collect(v, old)
		v.unlink(old)
		delete(v.entries, old.name)
	}
	if next != nil {
		v.link(next)
		v.entries[next.name] = next
		touched.collect(v, next)
	}
	// UUIDs first: addresses answer with the machine of their UUID, and tokens
	// with the machine of their addresses.
	for key := range touched.uuids {
		v.resolve(key, func(s *slot) *Machine { return combine(s.entries) })
	}
	for key := range touched.addresses {
		v.resolve(key, v.atAddress)
	}
	for key := range touched.tokens {
		v.resolve(key, v.atToken)
	}
}

func (v *View) resolve(key any, decide func(*slot) *Machine) {
	s := v.slot(key)
	if s == nil {
		return
	}
	if len(s.entries) == 0 {
		v.slots.Delete(key)
		return
	}
	s.machine.Store(decide(s))
}

// crowd is how many entries may share an address or a serial number before it is
// taken for what it must be: the address of a container bridge that every operating
// system has, a serial number that a manufacturer left out. It identifies nobody
// then, and writes stay cheap.
const crowd = 64

// atAddress decides for a MAC, an IP or a serial number.
func (v *View) atAddress(s *slot) *Machine {
	if len(s.entries) > crowd {
		return nil
	}
	entries := strongest(s.entries)
	var uuids []string
	var named, nameless []*entry
	for _, e := range entries {
		if e.uuid == "" {
			nameless = append(nameless, e)
			continue
		}
		named = append(named, e)
		if !slices.Contains(uuids, e.uuid) {
			uuids = append(uuids, e.uuid)
		}
	}
	switch {
	case len(uuids) == 0:
		return combine(entries)
	case len(uuids) > 1:
		m := &Machine{rivals: uuids}
		for _, e := range entries {
			m.Conflict = append(m.Conflict, e.name)
		}
		return m
	}
	owner := v.slot(named[0].keys[0])
	if len(nameless) == 0 {
		return owner.machine.Load()
	}
	// Some name no UUID but share the address: they are about the same machine.
	return combine(slices.Concat(owner.entries, nameless))
}

// atToken decides for a token: the machine of one of its entries, provided that
// it is served and in the attempt of the token.
func (v *View) atToken(s *slot) *Machine {
	for _, e := range s.entries {
		for _, key := range e.known() {
			m := v.slot(key).machine.Load()
			if m != nil && len(m.Conflict) == 0 && m.HasToken(e.attempt.Token) {
				return m
			}
		}
	}
	return nil
}

// known returns the identifiers that e's own machine is found by: the UUID alone
// if there is one.
func (e *entry) known() []any {
	if e.uuid != "" {
		return e.keys[:1]
	}
	return e.keys
}

func (v *View) slot(key any) *slot {
	s, ok := v.slots.Load(key)
	if !ok {
		return nil
	}
	return s.(*slot)
}

func (v *View) link(e *entry) {
	for key := range e.allKeys {
		s := v.slot(key)
		if s == nil {
			s = &slot{}
			v.slots.Store(key, s)
		}
		i, _ := slices.BinarySearchFunc(s.entries, e.name, byName)
		s.entries = slices.Insert(s.entries, i, e)
	}
}

func (v *View) unlink(e *entry) {
	for key := range e.allKeys {
		s := v.slot(key)
		if i, ok := slices.BinarySearchFunc(s.entries, e.name, byName); ok {
			s.entries = slices.Delete(s.entries, i, i+1)
		}
	}
}

func byName(e *entry, name string) int { return strings.Compare(e.name, name) }

// allKeys iterates over every identifier of e, the token too.
func (e *entry) allKeys(yield func(any) bool) {
	for _, key := range e.keys {
		if !yield(key) {
			return
		}
	}
	if e.token != nil {
		yield(e.token)
	}
}

// touchedKeys are the identifiers whose answer may change.
type touchedKeys struct{ uuids, addresses, tokens map[any]struct{} }

func newTouchedKeys() touchedKeys {
	return touchedKeys{map[any]struct{}{}, map[any]struct{}{}, map[any]struct{}{}}
}

// collect adds the identifiers of e and of all entries that e combines with. It
// is called while e is linked.
func (t touchedKeys) collect(v *View, e *entry) {
	t.add(e)
	if e.uuid != "" {
		for _, o := range v.slot(e.keys[0]).entries {
			t.add(o)
		}
	}
	// The token of an entry without UUID follows what its addresses answer.
	for key := range t.addresses {
		entries := v.slot(key).entries
		if len(entries) > crowd+1 { // and crowded before and after this write
			continue
		}
		for _, o := range entries {
			if o.uuid == "" && o.token != nil {
				t.tokens[o.token] = struct{}{}
			}
		}
	}
}

func (t touchedKeys) add(e *entry) {
	for _, key := range e.keys {
		if _, ok := key.(uuidKey); ok {
			t.uuids[key] = struct{}{}
		} else {
			t.addresses[key] = struct{}{}
		}
	}
	if e.token != nil {
		t.tokens[e.token] = struct{}{}
	}
}
