package assignment

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/identity"
)

// Grant is what a namespace may say of machines.
type Grant struct {
	// Operator: it is one of the operator's, and may say anything.
	Operator bool
	// Machines is what others may speak for. Problem is why what was written of it cannot be read; it grants nothing then.
	Machines MachineSet
	Problem  string
	// Since is when the namespace was made.
	Since time.Time
}

// Counts reports whether anything of the namespace can count.
func (s Grant) Counts() bool { return s.Operator || len(s.Machines.entries) > 0 }

// Tenancy is the place that a selector has among those of other namespaces, nil for one of the operator's. It is not ok where
// the namespace may not select those machines; missing says what it would take.
func (s Grant) Tenancy(selector Selector) (place *Tenancy, missing string, ok bool) {
	if s.Operator {
		return nil, "", true
	}
	breadth, missing, ok := s.Machines.Covers(selector)
	if !ok {
		return nil, s.because(missing), false
	}
	return &Tenancy{Breadth: breadth, Since: s.Since}, "", true
}

// Machine is Tenancy for whoever names a machine by identities of which each alone is enough, [key, value] pairs: all have to be
// granted.
func (s Grant) Machine(identities [][2]string) (place *Tenancy, missing string, ok bool) {
	if s.Operator {
		return nil, "", true
	}
	place = &Tenancy{Breadth: Exactly, Since: s.Since}
	var lacking []string
	for _, id := range identities {
		breadth, _, ok := s.Machines.Covers(NewSelector(map[string]string{id[0]: id[1]}, nil))
		if !ok {
			lacking = append(lacking, id[0]+":"+id[1])
		}
		place.Breadth = max(place.Breadth, breadth)
	}
	if len(lacking) > 0 {
		return nil, s.because(list(lacking) + " is not granted"), false
	}
	return place, "", len(s.Machines.entries) > 0
}

func (s Grant) because(missing string) string {
	if s.Problem != "" {
		return s.Problem
	}
	return missing
}

// Tenancy is the place of an assignment of a namespace that is not the operator's. Nothing in it can be chosen by who writes
// the assignment, but by whoever granted what it takes, and by when.
type Tenancy struct {
	Breadth Breadth
	// Since is when the namespace was made.
	Since time.Time
}

// Breadth is how much a grant takes in beside what it was needed for, the narrowest first.
type Breadth int

// Breadths.
const (
	Exactly    Breadth = iota // this UUID, MAC, serial, asset, hostname or address
	Range                     // a prefix of them, or a network
	ByLabel                   // whatever says that of itself
	Everything                // *
)

// Limits of what is written of a grant.
const (
	MaxGrants     = 4096
	maxGrantEntry = 256
)

// MachineSet is a set of machines, by what identifies them.
type MachineSet struct {
	entries []entry
	exact   map[label]Breadth // those of entries that are looked up
}

// entry is one thing that is granted.
type entry struct {
	key, value string
	breadth    Breadth
	network    netip.Prefix // of key ip
}

// AnyMachine is granted everything.
func AnyMachine() MachineSet { return MachineSet{entries: []entry{{breadth: Everything}}} }

// With is both.
func (g MachineSet) With(other MachineSet) MachineSet {
	both := MachineSet{entries: append(slices.Clone(g.entries), other.entries...)}
	both.index()
	return both
}

// ParseMachineSet reads a grant: entries separated by commas or blanks, each of them * or key:value. Keys are uuid, mac, serial, asset,
// hostname, ip (an address or a network) and label (label:key=value). Values of the first four may end with *, a MAC
// address after a whole byte. One entry that cannot be read makes all of it an error.
func ParseMachineSet(text string) (MachineSet, error) {
	var g MachineSet
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
	if len(words) > MaxGrants {
		return MachineSet{}, fmt.Errorf("%d entries, more than %d", len(words), MaxGrants)
	}
	for n, word := range words {
		e, err := parseEntry(word)
		if err != nil {
			return MachineSet{}, fmt.Errorf("entry %d: %w", n+1, err)
		}
		g.entries = append(g.entries, e)
	}
	g.index()
	return g, nil
}

func (g *MachineSet) index() {
	g.exact = map[label]Breadth{}
	for _, e := range g.entries {
		if e.breadth == Exactly || e.breadth == ByLabel {
			at := label{e.key, e.value}
			if old, twice := g.exact[at]; !twice || e.breadth < old {
				g.exact[at] = e.breadth
			}
		}
	}
}

func parseEntry(word string) (entry, error) {
	if word == "*" {
		return entry{breadth: Everything}, nil
	}
	key, value, found := strings.Cut(word, ":")
	if !found || value == "" || len(word) > maxGrantEntry {
		return entry{}, fmt.Errorf("%q is neither * nor key:value of at most %d bytes", shortened(word), maxGrantEntry)
	}
	switch key {
	case KeyIP:
		return parseNetwork(word, value)
	case "label":
		return parseLabel(word, value)
	case KeyUUID, KeyMAC, KeySerial, KeyAsset, KeyHostname:
	default:
		return entry{}, fmt.Errorf("%q: want uuid, mac, serial, asset, hostname, ip or label before the colon", shortened(word))
	}
	if prefix, ranged := strings.CutSuffix(value, "*"); ranged && key != KeyHostname && key != KeyUUID {
		return parseRange(word, key, prefix)
	}
	e := entry{key: key, value: CanonicalValue(key, value)}
	bad := strings.Contains(value, "*") || Placeholder(key, e.value)
	switch key {
	case KeyUUID:
		_, err := identity.UUID(e.value)
		bad = bad || err != nil
	case KeyMAC:
		_, err := identity.MAC(e.value)
		bad = bad || err != nil
	}
	if bad {
		return entry{}, fmt.Errorf("%q identifies no machine", shortened(word))
	}
	return e, nil
}

// parseRange reads what a * follows: "mac:aa:bb:cc:*", "serial:ACME-*".
func parseRange(word, key, prefix string) (entry, error) {
	if key == KeyMAC {
		prefix = strings.ToLower(strings.ReplaceAll(prefix, "-", ":"))
		octets, whole := strings.CutSuffix(prefix, ":")
		full, err := identity.MAC(octets + strings.Repeat(":00", 5-strings.Count(octets, ":")%6))
		if !whole || err != nil || !strings.HasPrefix(full, prefix) {
			return entry{}, fmt.Errorf("%q: want whole bytes before the *, such as mac:aa:bb:cc:*", shortened(word))
		}
	}
	if prefix == "" || strings.Contains(prefix, "*") {
		return entry{}, fmt.Errorf("%q: want one * after at least a letter", shortened(word))
	}
	return entry{key: key, value: prefix, breadth: Range}, nil
}

func parseNetwork(word, value string) (entry, error) {
	if network, err := netip.ParsePrefix(value); err == nil {
		return entry{key: KeyIP, network: network.Masked(), breadth: Range}, nil
	}
	address, err := identity.IP(value)
	if err != nil {
		return entry{}, fmt.Errorf("%q: want an IP address or a network such as ip:192.0.2.0/24", shortened(word))
	}
	return entry{key: KeyIP, value: address}, nil
}

func parseLabel(word, value string) (entry, error) {
	key, value, found := strings.Cut(value, "=")
	if key = CanonicalKey(key); !found || key == "" || ClassOf(key) != Attribute || strings.Contains(value, "*") {
		return entry{}, fmt.Errorf("%q: want label:key=value, of what does not identify one machine", shortened(word))
	}
	if value = CanonicalValue(key, value); value == "" {
		return entry{}, fmt.Errorf("%q: the value is empty", shortened(word))
	}
	return entry{key: key, value: value, breadth: ByLabel}, nil
}

func shortened(word string) string {
	if len(word) > maxGrantEntry {
		word = strings.ToValidUTF8(word[:maxGrantEntry], "") + "…"
	}
	return word
}

// Covers reports whether all machines that a selector selects are granted, and how broad the grant is that says so, the narrowest
// if there are more. All keys of a selector have to be true of a machine, so one of them that is granted, with each of its values, is
// enough.
func (g MachineSet) Covers(s Selector) (breadth Breadth, missing string, ok bool) {
	best, found := Everything, slices.ContainsFunc(g.entries, func(e entry) bool { return e.breadth == Everything })
	for _, key := range s.keys() {
		if widest, lacking := g.coversKey(key, s[key]); len(lacking) == 0 && len(s[key]) > 0 {
			best, found = min(best, widest), true
		} else if missing == "" && len(lacking) > 0 {
			missing = list(lacking) + " is not granted"
		}
	}
	if !found && missing == "" {
		missing = "it selects machines by nothing that is granted; * would grant all"
	}
	return best, missing, found
}

// coversKey is the breadth of the widest entry that one of the values needs, and the values that none grants.
func (g MachineSet) coversKey(key string, values []string) (widest Breadth, lacking []string) {
	for _, value := range values {
		breadth, ok := g.exact[label{key, value}]
		if !ok {
			breadth, ok = g.inRange(key, value)
		}
		if !ok {
			lacking = append(lacking, key+":"+value)
			continue
		}
		widest = max(widest, breadth)
	}
	return widest, lacking
}

func (g MachineSet) inRange(key, value string) (Breadth, bool) {
	for _, e := range g.entries {
		if e.breadth != Range || e.key != key {
			continue
		}
		if key != KeyIP && strings.HasPrefix(value, e.value) {
			return Range, true
		}
		if address, err := netip.ParseAddr(value); key == KeyIP && err == nil && e.network.Contains(address.Unmap()) {
			return Range, true
		}
	}
	return 0, false
}

// list writes the first few of what is listed.
func list(all []string) string {
	const few = 5
	if len(all) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:few], ", "), len(all)-few)
	}
	return strings.Join(all, ", ")
}
