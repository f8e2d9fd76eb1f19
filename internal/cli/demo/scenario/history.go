package scenario

import (
	"cmp"
	"errors"
	"slices"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/cli/demo/show"
	"github.com/farrier-dev/farrier/internal/sim"
)

// Result is what came of the run, when that has ended. err is what Run returned.
func (s *Scenario) Result(err error) *show.Result {
	r := &show.Result{
		OK: err == nil, Start: show.MomentAt(s.start, s.start), Seconds: show.Seconds(s.ended.Sub(s.start)),
		BootSeconds: show.Seconds(s.booted), Steps: s.steps, Servers: []show.ServerHistory{}, Claims: []show.ClaimHistory{},
	}
	if failure := (*Failure)(nil); errors.As(err, &failure) {
		r.FailedStep, r.Why, r.Interrupted = failure.Step, failure.Why.Error(), errors.Is(err, errInterrupted)
	}
	s.world.Look(func(state *State) {
		r.Servers = append(r.Servers, s.servers(state)...)
		for _, c := range s.claims {
			r.Claims = append(r.Claims, s.claim(state, c))
		}
	})
	return r
}

// servers tells of every Server what it went through.
func (s *Scenario) servers(state *State) []show.ServerHistory {
	changes := map[track][]show.Change{}
	for i := range state.journal {
		e := &state.journal[i]
		if e.kind == kindServer || e.kind == kindPower {
			changes[e.track] = append(changes[e.track], show.Change{Value: e.to, Moment: show.MomentAt(s.start, e.at)})
		}
	}
	all := make([]show.ServerHistory, 0, len(state.Servers))
	for name, server := range state.Servers {
		all = append(all, show.ServerHistory{
			Name: name, SystemUUID: server.Spec.SystemUUID, Model: server.Status.Model,
			States: append([]show.Change{}, changes[track{kindServer, name}]...),
			Power:  append([]show.Change{}, changes[track{kindPower, name}]...),
		})
	}
	slices.SortFunc(all, func(a, b show.ServerHistory) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (s *Scenario) claim(state *State, c *claimed) show.ClaimHistory {
	h := show.ClaimHistory{
		Name: c.name, Server: c.server, Image: s.lab.Image, OK: len(c.files) > 0,
		Files: append([]show.File{}, c.files...), Phases: []show.Phase{}, Events: []show.Event{}, Cleanup: c.cleanup,
	}
	for _, f := range c.files {
		h.OK = h.OK && f.OK
	}
	if c.place == nil {
		return h
	}
	records := c.place.Machine.Record()
	t := story{state: state, claim: c, parts: c.parts(state)}
	t.found()
	t.changes()
	for i := range records {
		t.boot(&records[i])
	}
	h.Events = t.told(s.start)
	h.Phases = c.phases(state, bootFor(c, records))
	return h
}

// bootFor is the last boot while the claim had the machine.
func bootFor(c *claimed, records []sim.BootRecord) *sim.BootRecord {
	for i := range slices.Backward(records) {
		r := &records[i]
		if !r.Start.Before(c.created) && (c.deleted.IsZero() || r.Start.Before(c.deleted)) {
			return r
		}
	}
	return nil
}

// phases are how long the parts of the claim's life took, as far as it got.
func (c *claimed) phases(state *State, boot *sim.BootRecord) []show.Phase {
	bound := state.first(track{kindClaim, c.name}, string(metalv1.ServerClaimPhaseBound), c.created)
	ready := state.first(track{kindBoot, c.name}, string(metalv1.ServerBootConfigurationStateReady), c.created)
	var on, runs, off time.Time
	if boot != nil {
		on, runs, off = boot.Start, boot.Settled, boot.End
	}
	var clean time.Time
	if !c.deleted.IsZero() {
		clean = state.first(track{kindServer, c.server}, string(metalv1.ServerStateAvailable), c.deleted)
	}
	var phases []show.Phase
	for _, p := range []struct {
		name     string
		from, to time.Time
	}{
		{"claimed → bound", c.created, bound},
		{"bound → boot configuration", bound, ready},
		{"ready → powered on", ready, on},
		{"powered on → running", on, runs},
		{"claim deleted → off", c.deleted, off},
		{"off → available", off, clean},
	} {
		if !p.from.IsZero() && !p.to.IsZero() {
			phases = append(phases, show.Phase{Name: p.name, Took: show.Seconds(p.to.Sub(p.from))})
		}
	}
	return phases
}
