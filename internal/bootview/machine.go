package bootview

import (
	"slices"
	"strings"
)

// Machine is what one machine gets, combined from its entries. It never changes;
// a later Put or Delete makes another one. It refers to the entries that its answers come from and copies nothing of them: a site has a
// Machine for each entry or two.
type Machine struct {
	// script, ignition and file are the entries that these answers come from, nil: no entry has one. boot is the one that says which boot
	// they belong to, nil: there is a conflict.
	script, ignition, file, boot *entry
	conflict                     *conflict

	// UUID is canonical; empty while nobody knows it.
	UUID string
	// Site is where the machine stands; empty: the default one.
	Site string
	// Addressed says that an IP address of the machine is known, from an inspection or from whoever wrote its boot config.
	Addressed bool
}

// conflict is why a machine gets nothing.
type conflict struct {
	// entries are the names of those that contradict each other, sorted.
	entries []string
	// rivals are the UUIDs of the machines that one address is said to belong to.
	rivals []string
}

// Conflict names the entries that contradict each other, sorted. When it is not empty, the machine gets nothing, and only its UUID is known.
func (m *Machine) Conflict() []string {
	if m.conflict == nil {
		return nil
	}
	return m.conflict.entries
}

// rivals are the UUIDs of the machines that the address is said to belong to by which m was found.
func (m *Machine) rivals() []string {
	if m.conflict == nil {
		return nil
	}
	return m.conflict.rivals
}

// Script is what /ipxe/{uuid} answers; zero: nothing.
func (m *Machine) Script() Script {
	if m.script == nil {
		return Script{}
	}
	return m.script.script
}

// ScriptEntry is the name of the entry that the script comes from; empty: no entry has one.
func (m *Machine) ScriptEntry() string { return m.script.nameOrNone() }

// Ignition is nil when no entry refers to any.
func (m *Machine) Ignition() *Ignition {
	if m.ignition == nil {
		return nil
	}
	return m.ignition.ignition
}

// IgnitionEntry is the name of the entry that refers to the ignition; empty: none does.
func (m *Machine) IgnitionEntry() string { return m.ignition.nameOrNone() }

// FileURL is where firmware fetches what it boots itself; /httpboot answers it.
func (m *Machine) FileURL() string {
	if m.file == nil {
		return ""
	}
	return m.file.fileURL.Value()
}

// FileEntry is the name of the entry whose firmware boots a file, which may have no URL yet; empty: there is none.
func (m *Machine) FileEntry() string { return m.file.nameOrNone() }

// Attempt is the boot that these answers belong to.
func (m *Machine) Attempt() Attempt {
	if m.boot == nil {
		return Attempt{}
	}
	return m.boot.attempt
}

// Session is who boots in it; nil: no boot is under way, or nobody keeps account of it.
func (m *Machine) Session() *Session {
	if m.boot == nil {
		return nil
	}
	return m.boot.session
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
	return m.ScriptEntry() == o.ScriptEntry() && m.IgnitionEntry() == o.IgnitionEntry() && m.FileEntry() == o.FileEntry()
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
	if names := sameKind(entries); len(names) > 0 {
		m.conflict = &conflict{entries: names}
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
	m.boot = entries[0]
	for _, e := range entries {
		m.take(e)
	}
	return m
}

// take fills in what m does not have yet and e has.
func (m *Machine) take(e *entry) {
	if m.Site == "" {
		m.Site = e.site.Value()
	}
	m.Addressed = m.Addressed || slices.ContainsFunc(e.keys, func(k key) bool { return k.kind == keyIP })
	if m.script == nil && !e.script.IsZero() {
		m.script = e
	}
	if m.ignition == nil && e.ignition != nil {
		m.ignition = e
	}
	if m.file == nil && (e.bootsFile || e.fileURL.Value() != "") {
		m.file = e
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
