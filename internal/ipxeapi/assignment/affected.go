package assignment

import (
	"maps"
	"slices"
)

// Affected returns the assignments that have a conflict with this one in which it has precedence, and those that it overrides: the
// reverse of [Index.Conflicts] and [Index.Overrides]. Their status changes when this one comes or goes.
func (x *Index) Affected(a *Assignment) []*Assignment {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found []*Assignment
	for _, other := range x.duplicates[duplicateKeyOf(a)] {
		if other.Key() != a.Key() && better(a, other) && !sameProfile(a, other) {
			found = append(found, other)
		}
	}
	looked := 0
	for _, name := range slices.Sorted(maps.Keys(x.shapes)) {
		s := x.shapes[name]
		if s.class != a.Class() && !(s.class == Default && a.Class() == Attribute) {
			continue
		}
		s.sharing(a.Selector, func(other *Assignment) bool {
			looked++
			if other.Key() != a.Key() && (better(a, other) && ambiguous(a, other) || defeats(a, other)) {
				found = append(found, other)
			}
			return looked < maxLooked
		})
		if looked >= maxLooked {
			break
		}
	}
	slices.SortFunc(found, byKey)
	return slices.Compact(found)
}
