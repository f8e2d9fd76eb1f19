package importer

import (
	"maps"
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// requirements writes a selector as matchbox does to order groups with the same number of them.
func (g *group) requirements() string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(g.Selector)) {
		pairs = append(pairs, key+"="+g.Selector[key])
	}
	return strings.Join(pairs, ",")
}

// rank puts groups into matchbox's order: the one with most selectors first. Within a class of selectors priorities
// keep that order where ours is another. Across classes nothing can: a machine's own UUID comes before
// its attributes here, however many they are, and every such pair is named.
func (m *matchbox) rank(groups []*group) {
	slices.SortStableFunc(groups, func(a, b *group) int {
		if order := len(b.Selector) - len(a.Selector); order != 0 {
			return order
		}
		return strings.Compare(b.requirements(), a.requirements())
	})
	reordered := map[assignment.Class]bool{}
	for i, first := range groups {
		for _, second := range groups[i+1:] {
			if !overlapping(first.selector, second.selector) || first.Profile == second.Profile {
				continue
			}
			a, b := &assignment.Assignment{Name: first.ID, Selector: first.selector}, &assignment.Assignment{Name: second.ID, Selector: second.selector}
			order, by := assignment.Compare(a, b)
			switch {
			case order < 0:
			case by == assignment.ByClass:
				m.note(Ranking, first.file, "a machine of this group and of %s was given profile %q, which counting selectors put first (%d, %d); it is given %q now: %s (%s) comes before %s",
					second.file, first.Profile, len(first.Selector), len(second.Selector), second.Profile, b.Class(), second.selector, a.Class())
			default:
				reordered[a.Class()] = true
			}
		}
	}
	for i, g := range groups {
		if reordered[g.selector.Class()] {
			g.made.Spec.Priority = int32(len(groups) - i)
			m.note(Changed, g.file, "priority %d keeps its place among groups that select by %s", g.made.Spec.Priority, g.selector.Class())
		}
	}
}

// overlapping reports whether a machine could be selected by both.
func overlapping(a, b assignment.Selector) bool {
	for key, values := range a {
		if others, shared := b[key]; shared && !slices.ContainsFunc(values, func(v string) bool { return slices.Contains(others, v) }) {
			return false
		}
	}
	return true
}
