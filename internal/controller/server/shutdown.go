package server

import (
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// A machine that is forced off after a time must not get that time anew from each process that comes to it: a
// manager that restarts often would wait for ever. So it is remembered since when the machine is asked, from the moment
// that its BMC took the order on: while that does not answer, the operating system hears nothing and has its time before it.
const (
	// shutdownNoted is how long a shutdown goes on before that is written: most are over by then.
	shutdownNoted = 10 * time.Second
	// shutdownLeast is what an operating system is given in any case once it is asked, up to the budget.
	shutdownLeast = 10 * time.Second
)

// shutdownBudget is how long the machine may take from now on to shut down for what that serves.
func (v *View) shutdownBudget(serves string) time.Duration {
	budget := v.Policy.PowerOffBudget
	since := shutdownSince(v.Server, serves)
	if since.IsZero() || since.After(v.Now) {
		return budget
	}
	return max(budget-v.Now.Sub(since), min(budget, shutdownLeast))
}

// noteShutdown remembers since when the machine is asked to shut down.
func (v *View) noteShutdown(p *Plan, serves, step string) {
	last := v.System.Command
	asked := strings.HasPrefix(last.ID, v.commandID(serves, step)) && last.State == fleet.Running && last.Sent != "" && !last.Forced
	if !asked || !shutdownSince(v.Server, serves).IsZero() {
		return
	}
	if due := last.Start.Add(shutdownNoted); v.Now.Before(due) {
		p.after(v.Now, due)
		return
	}
	noted := serves + "@" + last.Start.UTC().Format(time.RFC3339)
	p.alsoFacts(func(s *metalv1.Server) { annotate(s, annotationShutdown, noted) })
}

// forgetShutdown ends what is remembered of a shutdown once the machine is off: the next has its own time.
func (v *View) forgetShutdown(p *Plan) {
	if v.off() && v.Server.Annotations[annotationShutdown] != "" {
		p.alsoFacts(func(s *metalv1.Server) { delete(s.Annotations, annotationShutdown) })
	}
}

// shutdownSince is since when the machine is asked to shut down for what that serves; zero: nothing is remembered of it.
func shutdownSince(s *metalv1.Server, serves string) time.Time {
	noted := s.Annotations[annotationShutdown]
	cut := strings.LastIndexByte(noted, '@')
	if cut < 0 || noted[:cut] != serves {
		return time.Time{}
	}
	since, err := time.Parse(time.RFC3339, noted[cut+1:])
	if err != nil {
		return time.Time{}
	}
	return since
}
