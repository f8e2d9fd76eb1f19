package show

import (
	"cmp"
	"slices"
)

// choose splits servers into those that there is room for and the others. If not all can be shown
// one line goes to saying so. Shown are those in trouble, then those that are claimed, then those that
// changed last; in the order in which they came.
func choose(servers []Server, room int) (shown, hidden []Server) {
	if len(servers) <= room {
		return servers, nil
	}
	room = max(room-1, 1)
	order := make([]int, len(servers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := servers[a], servers[b]
		return cmp.Or(
			first(x.Trouble, y.Trouble),
			first(x.Claim != "", y.Claim != ""),
			first(x.State != "", y.State != ""),
			cmp.Compare(x.For, y.For),
		)
	})
	chosen := order[:room]
	for i := range servers {
		if slices.Contains(chosen, i) {
			shown = append(shown, servers[i])
		} else {
			hidden = append(hidden, servers[i])
		}
	}
	return shown, hidden
}

// first puts what is before what is not.
func first(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}
