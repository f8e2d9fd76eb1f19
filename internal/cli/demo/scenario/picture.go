package scenario

import (
	"cmp"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/cli/demo/show"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/sim"
)

// Frame is the picture of this moment.
func (s *Scenario) Frame() show.Frame {
	s.mu.Lock()
	now := s.clock.Now()
	f := show.Frame{
		Elapsed: now.Sub(s.start), Number: s.number, Steps: len(s.all), Have: s.have, Want: s.want, Failed: s.failed,
	}
	if s.current != nil {
		f.Step, f.Means = s.current.name, s.current.means
	}
	lab := s.lab
	s.mu.Unlock()
	if lab == nil {
		return f
	}
	f.Hint = lab.Hint
	s.world.Look(func(state *State) {
		began := state.began()
		for i := range lab.Rack {
			f.Servers = append(f.Servers, row(state, &lab.Rack[i], began, now))
		}
	})
	return f
}

// began is since when each Server has been in its state.
func (s *State) began() map[string]time.Time {
	at := make(map[string]time.Time, len(s.Servers))
	for i := range s.journal {
		if e := &s.journal[i]; e.kind == kindServer {
			at[e.name] = e.at
		}
	}
	return at
}

func row(state *State, p *Place, began map[string]time.Time, now time.Time) show.Server {
	server := state.server(p.UUID)
	if server == nil {
		f := connected(state.Endpoints[p.BMC], state.BMCs[p.BMC])
		return show.Server{Name: p.BMC, Doing: cmp.Or(f.broken, f.waiting), Trouble: f.broken != ""}
	}
	r := show.Server{
		Name: server.Name, Model: server.Status.Model, Power: string(server.Status.PowerState), State: string(server.Status.State),
	}
	if at, known := began[server.Name]; known {
		r.For = now.Sub(at)
	}
	var claim *metalv1.ServerClaim
	if ref := server.Spec.ServerClaimRef; ref != nil {
		r.Claim = ref.Namespace + "/" + ref.Name
		claim = state.Claims[r.Claim]
	}
	if boot := latest(p.Machine.Record(), time.Time{}); boot != nil && boot.End.IsZero() {
		r.Doing, r.Trouble = underWay(boot), mishap(boot) != ""
		if p.Machine.PowerState() == sim.PoweringOff {
			r.Doing = "shutting down"
		}
		return r
	}
	activity := overview.Facts{Server: server, Claim: claim}.Activity(now)
	r.Doing, r.Trouble = activity.Doing, activity.Trouble != nil
	return r
}

// underWay says where in its boot a machine is that is on.
func underWay(boot *sim.BootRecord) string {
	switch {
	case boot.Outcome == sim.OutcomeInstalled:
		return "running"
	case boot.Outcome == sim.OutcomeProbe:
		return "probe has reported"
	case boot.Why != "":
		return boot.Why
	case boot.POST.IsZero():
		return "self test"
	case len(boot.Fetches) == 0:
		return "booting from the network"
	}
	last := boot.Fetches[len(boot.Fetches)-1]
	if last.Error != "" {
		return string(last.What) + ": " + last.Error
	}
	return "got " + string(last.What) + ", " + show.Size(last.Bytes)
}
