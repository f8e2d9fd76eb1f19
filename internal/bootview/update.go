package bootview

import (
	"slices"
)

// Put adds e, or replaces the entry of the same name.
func (v *View) Put(e Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := newEntry(e)
	if n.uuid != "" {
		for _, o := range v.index.entries(n.keys[0]) {
			n.share(o)
		}
	}
	n.session = v.sessions.join(&e)
	v.replace(v.entries[e.Name], n)
	if n.session != nil && e.Terms.Bound.IsZero() {
		e.Terms.Bound = n.session.Bound() // also where nobody writes it down: whoever answers elsewhere has to know
	}
	v.observer.put(e)
}

// Delete removes an entry; one that is not there is no error.
func (v *View) Delete(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if old := v.entries[name]; old != nil {
		v.replace(old, nil)
		v.observer.deleted(name)
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
	var touched touchedKeys
	touched.collect(v, e)
	var names []string
	for _, keys := range [][]key{touched.uuids, touched.addresses} {
		for _, k := range keys {
			if k.kind == keySerial {
				// Manufacturers repeat serial numbers; that is nobody's mistake here.
				continue
			}
			m := v.index.machine(k)
			if m != nil && slices.Contains(m.Conflict(), name) {
				names = append(names, v.against(e, m.Conflict())...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// against returns those of names that are not of e's own machine in another kind.
func (v *View) against(e *entry, names []string) []string {
	var out []string
	for _, name := range names {
		o := v.entries[name]
		together := o.uuid == e.uuid && o.kind() != e.kind()
		if o != e && !together {
			out = append(out, name)
		}
	}
	return out
}

// Hidden names the entries that are served in place of one that was written by hand, sorted; none if some machine is given of it what it
// has, if it is in conflict with others, or if it names no machine.
func (v *View) Hidden(name string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.entries[name]
	if e == nil || e.rank != HandWritten {
		return nil
	}
	var by []string
	for _, k := range e.keys {
		m := v.index.machine(k)
		if m == nil {
			continue
		}
		if slices.Contains(m.Conflict(), name) || m.ScriptEntry() == name || m.IgnitionEntry() == name || m.FileEntry() == name {
			return nil
		}
		by = append(by, m.Conflict()...)
		for _, other := range []string{m.ScriptEntry(), m.IgnitionEntry(), m.FileEntry()} {
			if other != "" {
				by = append(by, other)
			}
		}
	}
	slices.Sort(by)
	return slices.Compact(by)
}

// Beside names the entries written by hand that carry an identifier of e, or of the entry of that name as it is now: e may hide them, or
// not any longer.
func (v *View) Beside(e Entry) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	keys := newEntry(e).keys
	if now := v.entries[e.Name]; now != nil {
		keys = append(keys, now.keys...)
	}
	var names []string
	for _, k := range keys {
		entries := v.index.entries(k)
		if len(entries) > crowd+1 {
			continue
		}
		for _, o := range entries {
			if o.rank == HandWritten && o.name != e.Name {
				names = append(names, o.name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Serves reports whether an entry counts for its machine with this attempt, and the attempt is open.
func (v *View) Serves(name, attemptID string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.entries[name]
	return e != nil && e.rank == Current && e.attempt.Open && e.attempt.ID == attemptID
}

// Bound is whom the session of an entry is bound to; the zero Caller: nobody, or it has none.
func (v *View) Bound(name string) Caller {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e := v.entries[name]; e != nil && e.session != nil {
		return e.session.Bound()
	}
	return Caller{}
}

// Bind has the session of an entry bound by whoever answers its machine elsewhere, and reports whether that has changed whom it is bound to.
// session is the attempt, or another name of the session; what is about another one than the entry has now comes too late.
func (v *View) Bind(name, session string, c Caller, proven bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.entries[name]
	if e == nil || e.session == nil || c.IsZero() || session != e.attempt.ID && session != e.session.id {
		return false
	}
	before := e.session.Bound()
	return e.session.Bind(c, proven) != before
}

// SiteOf is where the machine of an entry stands; false: there is no entry of that name.
func (v *View) SiteOf(name string) (site string, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.entries[name]
	if e == nil {
		return "", false
	}
	return e.site.Value(), true
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
	touched := &v.touched
	touched.uuids, touched.addresses, touched.tokens = touched.uuids[:0], touched.addresses[:0], touched.tokens[:0]
	if old != nil {
		touched.collect(v, old)
		v.index.unlink(old, next)
		delete(v.entries, old.name)
		v.sessions.leave(old.session)
	}
	if next != nil {
		v.index.link(next)
		v.entries[next.name] = next
		touched.collect(v, next)
	}
	// UUIDs first: addresses answer with the machine of their UUID, and tokens
	// with the machine of their addresses.
	v.resolve(touched.uuids, combine)
	v.resolve(touched.addresses, v.atAddress)
	v.resolve(touched.tokens, v.atToken)
}

// resolve decides for each of keys, once.
func (v *View) resolve(keys []key, decide func([]*entry) *Machine) {
	slices.SortFunc(keys, compareKeys)
	for _, k := range slices.Compact(keys) {
		if entries := v.index.entries(k); len(entries) > 0 {
			v.index.setMachine(k, decide(entries))
		} else {
			v.index.drop(k)
		}
	}
}

// crowd is how many entries may share an address or a serial number before it is
// taken for what it must be: the address of a container bridge that every operating
// system has, a serial number that a manufacturer left out. It identifies nobody
// then, and writes stay cheap.
const crowd = 64

// atAddress decides for a MAC, an IP or a serial number.
func (v *View) atAddress(carriers []*entry) *Machine {
	if len(carriers) > crowd {
		return nil
	}
	entries := strongest(carriers)
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
		c := &conflict{rivals: uuids}
		for _, e := range entries {
			c.entries = append(c.entries, e.name)
		}
		return &Machine{conflict: c}
	}
	uuid := named[0].keys[0]
	if len(nameless) == 0 {
		return v.index.machine(uuid)
	}
	// Some name no UUID but share the address: they are about the same machine.
	return combine(slices.Concat(v.index.entries(uuid), nameless))
}

// atToken decides for a token: the machine of one of its entries, provided that
// it is served and in the attempt of the token.
func (v *View) atToken(carriers []*entry) *Machine {
	for _, e := range carriers {
		for _, k := range e.known() {
			if k.isToken() {
				continue
			}
			m := v.index.machine(k)
			if m == nil || m.conflict != nil {
				continue
			}
			if boot := m.Attempt(); boot.Open && boot.ID == e.attempt.ID && m.HasToken(e.attempt.Token) {
				return m
			}
		}
	}
	return nil
}

// touchedKeys are the identifiers whose answer may change; one may be there several times.
type touchedKeys struct{ uuids, addresses, tokens []key }

// collect adds the identifiers of e and of all entries that e combines with. It
// is called while e is linked.
func (t *touchedKeys) collect(v *View, e *entry) {
	t.add(e)
	if e.uuid != "" {
		for _, o := range v.index.entries(e.keys[0]) {
			if o != e {
				t.add(o)
			}
		}
	}
	// The token of an entry without UUID follows what its addresses answer.
	for _, k := range t.addresses {
		entries := v.index.entries(k)
		if len(entries) > crowd+1 { // and crowded before and after this write
			continue
		}
		for _, o := range entries {
			if o.uuid == "" {
				t.tokens = append(t.tokens, o.tokens()...)
			}
		}
	}
}

func (t *touchedKeys) add(e *entry) {
	for _, k := range e.keys {
		switch k.kind {
		case keyUUID:
			t.uuids = append(t.uuids, k)
		case keyToken, keyBMCToken:
			t.tokens = append(t.tokens, k)
		default:
			t.addresses = append(t.addresses, k)
		}
	}
}
