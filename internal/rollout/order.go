package rollout

import (
	"cmp"
	"slices"
)

// Order sorts items so that those which begin first are spread over zones and racks: the canaries of a change should not all stand in one rack. It
// follows from names alone, so it is the same whoever computes it.
func Order(items []Item, machines []Machine) {
	at := make(map[string]Machine, len(machines))
	for _, m := range machines {
		at[m.Name] = m
	}
	where := func(i Item) Machine {
		if len(i.Machines) == 0 {
			return Machine{}
		}
		return at[i.Machines[0]]
	}
	slices.SortFunc(items, func(a, b Item) int { return cmp.Compare(a.ID, b.ID) })
	// The first of each rack go first, then the second of each, and racks of all zones take turns.
	inRack, racks, zones := map[string]int{}, map[string]int{}, map[string]int{}
	type rank struct{ item, rack int }
	ranks := make(map[string]rank, len(items))
	for _, i := range items {
		m := where(i)
		rack := m.Zone + "/" + m.Rack
		if _, known := racks[rack]; !known {
			racks[rack] = zones[m.Zone]
			zones[m.Zone]++
		}
		ranks[i.ID] = rank{inRack[rack], racks[rack]}
		inRack[rack]++
	}
	slices.SortStableFunc(items, func(a, b Item) int {
		x, y := ranks[a.ID], ranks[b.ID]
		return cmp.Or(cmp.Compare(x.item, y.item), cmp.Compare(x.rack, y.rack))
	})
}
