package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/cli/demo/show"
	"github.com/farrier-dev/farrier/internal/sim"
)

// story collects what happened to the server of a claim, from both sides: what the API showed, and what the machine
// remembers.
type story struct {
	state  *State
	claim  *claimed
	parts  []part
	events []event
}

// part is a part of the life of a server, with when it began.
type part struct {
	name  string
	began time.Time
}

// event is one thing that happened.
type event struct {
	at           time.Time
	what, detail string
	// took is zero for what has no length of its own.
	took time.Duration
}

// parts are those that the server has come to.
func (c *claimed) parts(state *State) []part {
	all := []part{
		{"found", time.Time{}},
		{"discovered", state.first(track{kindServer, c.server}, string(metalv1.ServerStateDiscovery), time.Time{})},
		{"claimed", c.created},
		{"released", c.deleted},
	}
	return slices.DeleteFunc(all, func(p part) bool { return p.name != "found" && p.began.IsZero() })
}

func (t *story) add(at time.Time, took time.Duration, what, detail string) {
	if !at.IsZero() {
		t.events = append(t.events, event{at: at, took: took, what: what, detail: detail})
	}
}

// found tells how the server came to be known.
func (t *story) found() {
	name := t.claim.place.BMC
	if e := t.state.Endpoints[name]; e != nil {
		t.add(t.state.first(track{kindEndpoint, name}, "created", time.Time{}), 0, "Endpoint created", e.Spec.MACAddress+" at "+e.Spec.IP)
	}
	if b := t.state.BMCs[name]; b != nil {
		t.add(t.state.first(track{kindBMC, name}, string(b.Status.State), time.Time{}), 0, "BMC answers",
			strings.TrimSpace(b.Status.Manufacturer+" "+b.Status.Model+" "+b.Status.FirmwareVersion))
	}
	if s := t.state.Servers[t.claim.server]; s != nil {
		memory := ""
		if s.Status.TotalSystemMemory != nil {
			memory = s.Status.TotalSystemMemory.String() + ", "
		}
		t.add(t.state.first(track{kindInventory, s.Name}, "read", time.Time{}), 0, "inventory read",
			fmt.Sprintf("%s %s, %s%d disks", s.Status.Manufacturer, s.Status.Model, memory, disks(s)))
	}
}

func disks(s *metalv1.Server) int {
	n := 0
	for _, storage := range s.Status.Storages {
		n += len(storage.Drives)
	}
	return n
}

// change is a track's getting a value.
type change struct {
	kind kind
	to   string
}

// words are what changes of state mean to a reader; a change without words is told by another.
var words = map[change]string{
	{kindServer, string(metalv1.ServerStateInitial)}:   "Server Initial",
	{kindServer, string(metalv1.ServerStateDiscovery)}: "Server Discovery",
	{kindServer, string(metalv1.ServerStateAvailable)}: "Server Available",
	{kindServer, string(metalv1.ServerStateReserved)}:  "Server Reserved",
	{kindServer, string(metalv1.ServerStateCleanup)}:   "Server Cleanup",
	{kindServer, string(metalv1.ServerStateError)}:     "Server Error",
	{kindPower, string(metalv1.PowerStateOff)}:         "BMC says Off",
	{kindPower, string(metalv1.PowerStateOn)}:          "BMC says On",
	{kindClaim, string(metalv1.ServerClaimPhaseBound)}: "claim Bound",
	{kindClaim, gone}: "claim gone",
	{kindBoot, string(metalv1.ServerBootConfigurationStateReady)}: "boot configuration Ready",
	{kindBoot, string(metalv1.ServerBootConfigurationStateError)}: "boot configuration Error",
}

// changes tells what the API showed.
func (t *story) changes() {
	t.add(t.claim.created, 0, "claim created", t.claim.name)
	t.add(t.claim.deleted, 0, "claim deleted", "")
	for i := range t.state.journal {
		e := &t.state.journal[i]
		ours := false
		switch e.kind {
		case kindServer, kindPower:
			ours = e.name == t.claim.server
		case kindClaim:
			ours = e.name == t.claim.name
		case kindBoot: // the internal one has the name of the server
			_, object, _ := strings.Cut(e.name, "/")
			ours = e.name == t.claim.name || object == t.claim.server
		}
		if what := words[change{e.kind, e.to}]; ours && what != "" {
			detail := ""
			if e.kind == kindServer && e.from == "" {
				detail = "system UUID " + t.claim.place.UUID
			}
			t.add(e.at, 0, what, detail)
		}
	}
}

// boot tells what the machine itself did between power-on and power-off.
func (t *story) boot(r *sim.BootRecord) {
	t.add(r.Start, 0, "powered on", bootDevice(r))
	t.add(r.POST, 0, "self test done", "")
	t.add(r.Kernel, 0, "kernel started", "")
	for _, f := range r.Fetches {
		what, detail := "got "+string(f.What), show.Size(f.Bytes)
		switch {
		case f.Error != "":
			what, detail = "no "+string(f.What), f.Error
		case f.What == sim.WhatRegister:
			what = "report sent"
		}
		t.add(f.End, f.End.Sub(f.Start), what, detail)
	}
	switch r.Outcome {
	case sim.OutcomeProbe:
		t.add(r.Settled, 0, "probe done", "")
	case sim.OutcomeInstalled:
		t.add(r.Settled, 0, "running", fmt.Sprintf("%.2fs after it was powered on", r.Settled.Sub(r.Start).Seconds()))
	case "":
	default:
		t.add(r.Settled, 0, string(r.Outcome), r.Why)
	}
	t.add(r.End, 0, "powered off", "")
}

func bootDevice(r *sim.BootRecord) string {
	if r.Boot.Target == "" || r.Boot.Target == sim.BootNone {
		return ""
	}
	return "boots " + string(r.Boot.Target) + " " + strings.ToLower(r.Boot.Enabled)
}

// told puts the events in order and says how long each took.
func (t *story) told(start time.Time) []show.Event {
	slices.SortStableFunc(t.events, func(a, b event) int { return a.at.Compare(b.at) })
	told := make([]show.Event, 0, len(t.events))
	for i, e := range t.events {
		if e.took == 0 && i > 0 {
			e.took = e.at.Sub(t.events[i-1].at)
		}
		name := ""
		for _, p := range t.parts {
			if !e.at.Before(p.began) {
				name = p.name
			}
		}
		told = append(told, show.Event{Moment: show.MomentAt(start, e.at), Part: name, What: e.what, Detail: e.detail, Took: show.Seconds(e.took)})
	}
	return told
}
