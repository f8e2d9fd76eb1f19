package page

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/place"
)

// zone is the racks of a zone.
type zone struct {
	Name  string
	Racks []rack
}

// rack has its servers from the top to the bottom; those without a unit last.
type rack struct {
	zone string
	Name string
	URL  string
	// Count is how many servers it has, also where fewer are drawn.
	Count, More int
	Wrong       int
	Slots       []slot
}

// slot is a server in its rack; Unit 0: nobody has said which.
type slot struct {
	overview.Server
	Unit int
}

// mostSlots is how many servers are drawn on a page, whole racks if they are no larger than that.
const mostSlots = 300

// draws puts servers into racks, and returns those of the page that a query asks for.
func draws(rows []overview.Server, byName map[string]*metalv1.Server, query url.Values) ([]zone, pager) {
	groups := group(rackUp(rows, byName, query))
	at, err := strconv.Atoi(query.Get("page"))
	if err != nil || at < 1 {
		at = 1
	}
	at = min(at, len(groups))
	p := pager{Total: len(rows)}
	if len(groups) == 0 {
		return nil, p
	}
	for _, racks := range groups[:at] {
		n := 0
		for _, r := range racks {
			n += r.Count
		}
		p.From, p.To = p.To+1, p.To+n
	}
	if at > 1 {
		p.Previous = with(pathServers, query, "page", strconv.Itoa(at-1))
	}
	if at < len(groups) {
		p.Next = with(pathServers, query, "page", strconv.Itoa(at+1))
	}
	var zones []zone
	for _, r := range groups[at-1] {
		if n := len(zones); n == 0 || zones[n-1].Name != r.zone {
			zones = append(zones, zone{Name: r.zone})
		}
		last := &zones[len(zones)-1]
		last.Racks = append(last.Racks, r)
	}
	return zones, p
}

// rackUp puts servers into racks, in order of zone and name.
func rackUp(rows []overview.Server, byName map[string]*metalv1.Server, query url.Values) []rack {
	type key struct{ zone, rack string }
	at := map[key]int{}
	var racks []rack
	for i := range rows {
		server := byName[rows[i].Name]
		if server == nil {
			continue
		}
		where := place.Of(server)
		k := key{where.Zone, where.Rack}
		n, seen := at[k]
		if !seen {
			n = len(racks)
			at[k] = n
			r := rack{zone: where.Zone, Name: where.Rack}
			if where.Rack != "" {
				r.URL = with(pathServers, without(query, "page"), "rack", where.Rack)
			}
			racks = append(racks, r)
		}
		r := &racks[n]
		r.Count++
		if rows[i].Trouble {
			r.Wrong++
		}
		r.Slots = append(r.Slots, slot{rows[i], where.Unit})
	}
	for i := range racks {
		r := &racks[i]
		slices.SortStableFunc(r.Slots, func(a, b slot) int { return cmp.Or(cmp.Compare(b.Unit, a.Unit), natural(a.Name, b.Name)) })
		if r.More = len(r.Slots) - mostSlots; r.More > 0 {
			r.Slots = r.Slots[:mostSlots]
		}
		r.More = max(r.More, 0)
	}
	slices.SortStableFunc(racks, func(a, b rack) int {
		return cmp.Or(boolean(a.Name == "", b.Name == ""), natural(a.zone, b.zone), natural(a.Name, b.Name))
	})
	return racks
}

// boolean puts what is so behind what is not.
func boolean(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// group makes pages of racks.
func group(racks []rack) (pages [][]rack) {
	drawn := 0
	for _, r := range racks {
		if len(pages) == 0 || drawn+len(r.Slots) > mostSlots {
			pages, drawn = append(pages, nil), 0
		}
		pages[len(pages)-1] = append(pages[len(pages)-1], r)
		drawn += len(r.Slots)
	}
	return pages
}
