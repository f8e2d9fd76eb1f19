package page

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/place"
)

const (
	pathServers = "/dashboard/servers"
	// mostRows is how many rows of a table a page has, so that it stays small.
	mostRows = 100
)

// serversPage is the list of servers, as rows or as racks.
type serversPage struct {
	Now time.Time
	// Search, Label, Rack, State and Wrong are what the list is narrowed by; Invalid says what is wrong with Label.
	Search, Label, Rack, State string
	Wrong                      bool
	Invalid                    string

	States   []link
	Racks    []string
	Drawn    bool // as racks
	AsRows   string
	AsRacks  string
	Rows     []overview.Server
	Zones    []zone
	Pager    pager
	Everyone int
	Missing  []string
}

// link narrows the list to a state, or widens it again.
type link struct {
	Name, URL string
	Count     int
	On        bool
}

// Servers lists servers. Its query narrows the list: q, state, rack, label, wrong, page; view=racks draws it.
func Servers(ctx context.Context, s Source, query url.Values) (View, error) {
	query = known(query, "q", "state", "rack", "label", "wrong", "page", "view")
	p := serversPage{
		Now: s.Now, Search: query.Get("q"), Label: query.Get("label"), Rack: query.Get("rack"), State: query.Get("state"), Wrong: query.Get("wrong") != "",
		Drawn: query.Get("view") == "racks",
	}
	selector, err := labels.Parse(p.Label)
	if err != nil {
		p.Invalid = "label: " + err.Error()
		selector = labels.Nothing()
	}
	objects, fleet, missing, err := s.fleet(ctx, overview.Filter{Labels: selector, Rack: p.Rack})
	if err != nil {
		return View{}, err
	}
	p.Everyone, p.Missing, p.Racks = len(objects.Servers), missing, racksOf(objects.Servers)
	byName := make(map[string]*metalv1.Server, len(objects.Servers))
	for i := range objects.Servers {
		byName[objects.Servers[i].Name] = &objects.Servers[i]
	}
	rows := make([]overview.Server, 0, len(fleet.Servers))
	for _, row := range fleet.Servers {
		if (row.Trouble || !p.Wrong) && matches(row, byName[row.Name], p.Search) {
			rows = append(rows, row)
		}
	}
	p.States = narrow(rows, p.State, without(query, "page"))
	if p.State != "" {
		rows = slices.DeleteFunc(rows, func(row overview.Server) bool { return row.State != p.State })
	}
	first := without(query, "page")
	p.AsRows, p.AsRacks = with(pathServers, first, "view", ""), with(pathServers, first, "view", "racks")
	if p.Drawn {
		p.Zones, p.Pager = draws(rows, byName, query)
	} else {
		p.Rows, p.Pager = cut(rows, mostRows, pathServers, query)
	}
	v := view("Servers", "servers", "servers", p)
	if p.Invalid != "" {
		v.Status = http.StatusBadRequest
	}
	return v, nil
}

// known keeps of a query what a page understands, so that links carry nothing else along.
func known(query url.Values, keys ...string) url.Values {
	kept := url.Values{}
	for _, key := range keys {
		if value := query.Get(key); value != "" && len(value) <= 512 {
			kept.Set(key, value)
		}
	}
	return kept
}

func without(query url.Values, key string) url.Values {
	rest := maps.Clone(query)
	rest.Del(key)
	return rest
}

// narrow are the states that there are, with links that show only those.
func narrow(rows []overview.Server, chosen string, query url.Values) []link {
	count := map[string]int{}
	for i := range rows {
		count[rows[i].State]++
	}
	var all []link
	for _, state := range countStates(count) {
		if state.Count == 0 && state.State != chosen {
			continue
		}
		l := link{Name: state.State, Count: state.Count, On: state.State == chosen, URL: with(pathServers, query, "state", state.State)}
		if l.On {
			l.URL = with(pathServers, query, "state", "")
		}
		all = append(all, l)
	}
	return all
}

// matches reports whether a server has the text in one of the names that people know it by.
func matches(row overview.Server, server *metalv1.Server, text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return true
	}
	has := func(value string) bool { return strings.Contains(strings.ToLower(value), text) }
	if has(row.Name) || has(row.Claim) || has(row.BMC) || has(row.Model) || has(row.UUID) || has(row.Rack) || has(row.Doing) {
		return true
	}
	return server != nil && (has(server.Status.SerialNumber) || has(server.Status.Manufacturer) ||
		slices.ContainsFunc(server.Status.NetworkInterfaces, func(n metalv1.NetworkInterface) bool { return has(n.MACAddress) || has(n.IP) }))
}

// mostRacks is how many racks can be chosen from a list; more are found by their name.
const mostRacks = 300

func racksOf(servers []metalv1.Server) []string {
	seen := map[string]bool{}
	for i := range servers {
		if rack := place.Of(&servers[i]).Rack; rack != "" {
			seen[rack] = true
		}
	}
	all := slices.SortedFunc(maps.Keys(seen), natural)
	return all[:min(len(all), mostRacks)]
}

// natural compares names as people count: rack-2 before rack-10.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n)); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits is how many digits a text begins with.
func digits(text string) int {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return i
		}
	}
	return len(text)
}
