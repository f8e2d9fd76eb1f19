package bootview

import (
	"slices"
	"strings"
)

// Machine is what one machine gets, combined from its entries. It never changes;
// a later Put or Delete makes another one.
type Machine struct {
	// What is asked for most comes first, so that it lies close together.

	// Script is what /ipxe/{uuid} answers; zero: nothing.
	Script Script
	// Conflict names the entries that contradict each other, sorted. When it is
	// not empty, nothing else but UUID is set.
	Conflict []string
	// ScriptEntry, IgnitionEntry and FileEntry are the names of the entries that
	// the answers come from; empty: no entry has one. FileEntry is also set for an
	// entry whose firmware boots a file that has no URL yet.
	ScriptEntry string
	// UUID is canonical; empty while nobody knows it.
	UUID string
	// Site is where the machine stands; empty: the default one.
	Site string
	// Attempt is the boot that these answers belong to.
	Attempt Attempt
	// Session is who boots in it; nil: no boot is under way, or nobody keeps account of it.
	Session *Session

	// Ignition is nil when no entry refers to any.
	Ignition      *Ignition
	IgnitionEntry string

	// FileURL is where firmware fetches what it boots itself; /httpboot answers it.
	FileURL   string
	FileEntry string

	// Addressed says that an IP address of the machine is known, from an inspection or from whoever wrote its boot config.
	Addressed bool

	// rivals are the UUIDs of the machines that one address is said to belong to.
	rivals []string
}

// Same reports whether m and o are one machine.
func (m *Machine) Same(o *Machine) bool {
	switch {
	case m == o:
		return true
	case m == nil || o == nil:
		return false
	case m.UUID != "" || o.UUID != "":
		return m.UUID == o.UUID
	}
	return m.ScriptEntry == o.ScriptEntry && m.IgnitionEntry == o.IgnitionEntry && m.FileEntry == o.FileEntry
}

// strongest returns the entries of the best rank, in a new slice; none when all
// of them are Stale.
func strongest(entries []*entry) []*entry {
	best := Stale
	for _, e := range entries {
		best = max(best, e.rank)
	}
	if best == Stale {
		return nil
	}
	var out []*entry
	for _, e := range entries {
		if e.rank == best {
			out = append(out, e)
		}
	}
	return out
}

// combine makes the machine that entries describe together, nil if none of them
// is to be served.
func combine(entries []*entry) *Machine {
	entries = strongest(entries)
	if len(entries) == 0 {
		return nil
	}
	m := &Machine{}
	for _, e := range entries {
		if m.UUID == "" {
			m.UUID = e.uuid
		}
	}
	if m.Conflict = sameKind(entries); len(m.Conflict) > 0 {
		return m
	}
	// An entry with a script speaks first: a machine that has both a script
	// and a UKI reads one ignition, and the script carries its token.
	slices.SortFunc(entries, func(a, b *entry) int {
		if a.script.IsZero() != b.script.IsZero() {
			if a.script.IsZero() {
				return 1
			}
			return -1
		}
		return strings.Compare(a.name, b.name)
	})
	m.Attempt, m.Session = entries[0].attempt, entries[0].session
	for _, e := range entries {
		m.take(e)
	}
	return m
}

// take fills in what m does not have yet and e has.
func (m *Machine) take(e *entry) {
	if m.Site == "" {
		m.Site = e.site
	}
	m.Addressed = m.Addressed || slices.ContainsFunc(e.keys, func(k key) bool { return k.kind == keyIP })
	if m.ScriptEntry == "" && !e.script.IsZero() {
		m.Script, m.ScriptEntry = e.script, e.name
	}
	if m.IgnitionEntry == "" && e.ignition != nil {
		m.Ignition, m.IgnitionEntry = e.ignition, e.name
	}
	if url := e.fileURL.Value(); m.FileEntry == "" && (url != "" || e.bootsFile) {
		m.FileURL, m.FileEntry = url, e.name
	}
}

// sameKind returns the names of entries that are not the only one of their kind.
func sameKind(entries []*entry) []string {
	count := make(map[string]int, 2)
	for _, e := range entries {
		count[e.kind()]++
	}
	var names []string
	for _, e := range entries {
		if count[e.kind()] > 1 {
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	return names
}
