package page

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/overview"
)

// overviewPage is what the first page shows.
type overviewPage struct {
	Now      time.Time
	Servers  int
	States   []stateCount
	Troubled int
	Causes   []causeGroup
	BMCs     overview.BMCs
	Claims   overview.Claims
	Waiting  int
	Unknown  int
	Boots    bootRates
	Missing  []string
}

// stateCount is how many servers are in a state.
type stateCount struct {
	State string
	Count int
}

// causeGroup is why something is wrong with several of a kind.
type causeGroup struct {
	overview.Cause
	// Kind is "servers", "claims", "bmcs" or "endpoints", and Shown the first of the names.
	Kind  string
	Shown []string
	More  int
}

const (
	// mostNames is how many names of a cause are shown, and mostCauses how many causes.
	mostNames, mostCauses = 5, 25
	// bootSpan is how far back boots are counted, in steps of bootStep.
	bootSpan, bootStep = time.Hour, 5 * time.Minute
)

// Overview is the first page: how many servers are in which state, what is wrong, and the boots of the last hour.
func Overview(ctx context.Context, s Source) (View, error) {
	objects, fleet, missing, err := s.fleet(ctx, overview.Filter{})
	if err != nil {
		return View{}, err
	}
	p := overviewPage{
		Now: s.Now, Servers: len(fleet.Servers), States: countStates(fleet.States), BMCs: fleet.BMCs, Claims: fleet.Claims,
		Boots: bootsOf(objects, s.Now), Missing: missing,
	}
	if machines, err := s.unknown(ctx); err != nil {
		p.Missing = append(p.Missing, "unknown machines: "+err.Error())
	} else {
		p.Unknown = len(machines)
	}
	for _, c := range fleet.Trouble {
		p.Troubled += len(c.Names)
	}
	for _, c := range fleet.Claims.Waiting {
		p.Waiting += len(c.Names)
	}
	failing := slices.DeleteFunc(groups("bmcs", fleet.BMCs.Failing), func(b causeGroup) bool { // that are said of their servers already
		return slices.ContainsFunc(fleet.Trouble, func(c overview.Cause) bool { return c.Reason == b.Reason && c.Message == b.Message })
	})
	p.Causes = slices.Concat(groups("servers", fleet.Trouble), failing, groups("claims", fleet.Claims.Waiting))
	slices.SortStableFunc(p.Causes, func(a, b causeGroup) int { return cmp.Compare(len(b.Names), len(a.Names)) })
	p.Causes = p.Causes[:min(len(p.Causes), mostCauses)]
	return view("Overview", "overview", "overview", p), nil
}

// states is the order in which states are shown.
var states = []metalv1.ServerState{
	metalv1.ServerStateInitial, metalv1.ServerStateDiscovery, metalv1.ServerStateAvailable, metalv1.ServerStateReserved, metalv1.ServerStateCleanup,
	metalv1.ServerStateReleased, metalv1.ServerStateMaintenance, metalv1.ServerStateParked, metalv1.ServerStateError,
}

func countStates(count map[string]int) []stateCount {
	all := make([]stateCount, len(states))
	for i, state := range states {
		all[i] = stateCount{string(state), count[string(state)]}
	}
	return all
}

func groups(kind string, causes []overview.Cause) []causeGroup {
	all := make([]causeGroup, len(causes))
	for i, c := range causes {
		n := min(len(c.Names), mostNames)
		all[i] = causeGroup{Cause: c, Kind: kind, Shown: c.Names[:n], More: len(c.Names) - n}
	}
	return all
}

// bootRates are the boots of the last hour, as far as boot configurations tell of them: each knows its newest.
type bootRates struct {
	Ordered, Booted int
	// Steps are counts of ordered and of booted, the oldest first, each of bootStep that ends at its time.
	Steps []bootCount
	Most  int
}

type bootCount struct {
	Ends            time.Time
	Ordered, Booted int
}

func bootsOf(o *overview.Objects, now time.Time) bootRates {
	r := bootRates{Most: 1}
	for at := now.Add(-bootSpan + bootStep); !at.After(now); at = at.Add(bootStep) {
		r.Steps = append(r.Steps, bootCount{Ends: at})
	}
	servers := make(map[string]*metalv1.Server, len(o.Servers))
	for i := range o.Servers {
		servers[o.Servers[i].Name] = &o.Servers[i]
	}
	for i := range o.Boots {
		attempt := bootattempt.Of(&o.Boots[i])
		if !attempt.Begun() {
			continue
		}
		before := max(now.Sub(*attempt.Ordered), 0) // a clock ahead of ours has ordered it now
		if before >= bootSpan {
			continue
		}
		step := &r.Steps[len(r.Steps)-1-int(before/bootStep)]
		step.Ordered++
		r.Ordered++
		if server := servers[o.Boots[i].Spec.ServerRef.Name]; server != nil && (overview.Facts{Server: server, Boot: &o.Boots[i]}).Booted() {
			step.Booted++
			r.Booted++
		}
		r.Most = max(r.Most, step.Ordered)
	}
	return r
}

// Chart is the data of the chart: times in seconds, boots that were ordered, and those of them that have come about.
func (r bootRates) Chart() (string, error) {
	data := [3][]int64{}
	for _, s := range r.Steps {
		data[0] = append(data[0], s.Ends.Unix())
		data[1] = append(data[1], int64(s.Ordered))
		data[2] = append(data[2], int64(s.Booted))
	}
	text, err := json.Marshal(data)
	return string(text), err
}

// bar is one of the chart as it is drawn without a script, in a box of 120 by 40.
type bar struct{ X, Y, Height, BootedY, BootedHeight int }

// Bars draw the chart.
func (r bootRates) Bars() []bar {
	const high, wide = 40, 10
	bars := make([]bar, len(r.Steps))
	for i, s := range r.Steps {
		ordered, booted := s.Ordered*high/r.Most, s.Booted*high/r.Most
		bars[i] = bar{X: i*wide + 1, Y: high - ordered, Height: ordered, BootedY: high - booted, BootedHeight: booted}
	}
	return bars
}
