package assignment

import (
	"maps"
	"slices"
)

// ConflictKind is the kind of a conflict between two assignments.
type ConflictKind string

const (
	// Duplicate: the same machines, the same priority, another profile. The older one has precedence.
	Duplicate ConflictKind = "Duplicate"
	// Ambiguous: both select some machines, and neither is more specific. The order decides, which is hardly what their
	// authors meant.
	Ambiguous ConflictKind = "Ambiguous"
)

const (
	// maxPeers bounds how many peers a conflict names.
	maxPeers = 3
	// maxLooked bounds how many assignments are compared to find them.
	maxLooked = 4096
)

// Conflict is a conflict of an assignment with others that have precedence.
type Conflict struct {
	Kind  ConflictKind
	Peers []*Assignment
}

// Conflicts returns the conflict of an assignment with others that have precedence, and reports whether there is one. What they
// select does not order them. The assignment need not be in the index: admission asks before it is.
func (x *Index) Conflicts(a *Assignment) (Conflict, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, peer := range x.duplicates[duplicateKeyOf(a)] {
		if peer.Key() != a.Key() && better(peer, a) && !sameProfile(peer, a) {
			return Conflict{Kind: Duplicate, Peers: []*Assignment{peer}}, true
		}
	}
	var peers []*Assignment
	looked := 0
	for _, name := range slices.Sorted(maps.Keys(x.shapes)) {
		s := x.shapes[name]
		if s.class != a.Class() {
			continue // of another class, which decides
		}
		s.sharing(a.Selector, func(peer *Assignment) bool {
			looked++
			if peer.Key() != a.Key() && better(peer, a) && ambiguous(peer, a) && !slices.Contains(peers, peer) {
				peers = append(peers, peer)
			}
			return len(peers) < maxPeers && looked < maxLooked
		})
		if len(peers) == maxPeers || looked >= maxLooked {
			break
		}
	}
	if len(peers) == 0 {
		return Conflict{}, false
	}
	slices.SortFunc(peers, byKey)
	return Conflict{Kind: Ambiguous, Peers: peers}, true
}

// sharing calls look with assignments of the shape that may select a machine which the
// selector selects too, until look has seen enough.
func (s *shape) sharing(selector Selector, look func(*Assignment) bool) {
	for _, values := range s.candidates(selector) {
		for _, a := range s.buckets[values] {
			if !look(a) {
				return
			}
		}
	}
}

// candidates returns the buckets to look into. Among attributes that have no key in common
// every pair of assignments overlaps; a shape that has very many of them is left out.
func (s *shape) candidates(selector Selector) []string {
	// A machine that says both may be meant by either, so that what one of them has in a bucket's key says little.
	twofold := slices.Contains(s.keys, KeyArchitecture) && slices.Contains(s.keys, KeyCPU)
	if fixed := s.fixed(selector); fixed != nil && !twofold {
		return fixed
	}
	anchor := anchorOf(s.keys)
	if values, ok := selector[anchor]; ok && !(twofold && anchor == KeyArchitecture) {
		var found []string
		for _, value := range values {
			found = append(found, s.byFirst[value]...)
		}
		slices.Sort(found)
		return found
	}
	if len(s.buckets) > maxLooked || s.class > Attribute && !s.sharesIdentity(selector) {
		return nil
	}
	return slices.Sorted(maps.Keys(s.buckets))
}

func (s *shape) sharesIdentity(selector Selector) bool {
	return slices.ContainsFunc(s.keys, func(key string) bool {
		_, ok := selector[key]
		return ok && ClassOf(key) != Attribute
	})
}

// fixed returns the shape's hash keys that a selector allows, nil if it leaves one open.
func (s *shape) fixed(selector Selector) []string {
	combined := []string{""}
	for _, key := range s.keys {
		values, ok := selector[key]
		if !ok || len(combined)*len(values) > maxExpanded {
			return nil
		}
		var next []string
		for _, prefix := range combined {
			for _, value := range values {
				next = append(next, prefix+value+"\x00")
			}
		}
		combined = next
	}
	return combined
}

func better(a, b *Assignment) bool { order, _ := Compare(a, b); return order < 0 }

func sameProfile(a, b *Assignment) bool {
	return a.Namespace == b.Namespace && a.Profile == b.Profile && a.Profile != ""
}

// Overlap reports whether some machine is selected by both, at the same priority, while neither is more specific
// and they give it different profiles: that is [Ambiguous], whichever of the two has precedence.
func Overlap(a, b *Assignment) bool { return ambiguous(a, b) }

// ambiguous reports whether a machine can be selected by both, of the same class and
// priority, while neither selects less than the other.
func ambiguous(a, b *Assignment) bool {
	class := a.Class()
	if class != b.Class() || prioritised(a, b) || sameProfile(a, b) || !overlap(a.Selector, b.Selector) {
		return false
	}
	if narrower(a.Selector, b.Selector) || narrower(b.Selector, a.Selector) {
		return false
	}
	// What identifies machines is named by different keys all the time, for different
	// machines; that both are the same one is known only where they share a key.
	return class <= Attribute || shareKey(a.Selector, b.Selector, class)
}

// prioritised reports whether priority says which of two comes first. Between tenants, and before the operator, it says nothing.
func prioritised(a, b *Assignment) bool {
	counts := a.Namespace == b.Namespace || a.Tenancy == nil && b.Tenancy == nil
	return counts && a.Priority != b.Priority
}

// overlap reports whether some machine could be selected by both.
func overlap(a, b Selector) bool {
	for key, values := range a {
		if others, ok := b[key]; ok && !slices.ContainsFunc(values, func(v string) bool { return has(others, v) }) {
			return false
		}
	}
	return true
}

// narrower reports whether every machine that a selects is selected by b as well.
func narrower(a, b Selector) bool {
	for key, values := range b {
		own, ok := a[key]
		if !ok || slices.ContainsFunc(own, func(v string) bool { return !has(values, v) }) {
			return false
		}
	}
	return true
}

func shareKey(a, b Selector, class Class) bool {
	for key := range a {
		if _, ok := b[key]; ok && ClassOf(key) == class {
			return true
		}
	}
	return false
}
