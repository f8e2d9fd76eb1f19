package server

import (
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// command orders cmd, unless it has just ended. Its ID is made
// of the server, what it serves (an attempt, a release) and the step, so that
// ordering it again, from this process or another, does nothing.
func (v *View) command(p *Plan, serves, step string, cmd fleet.Command) {
	base := v.commandID(serves, step)
	cmd.ID, cmd.System = base, v.System.URI
	last := v.System.Command
	if last.ID == base || strings.HasPrefix(last.ID, base+"~") {
		// Whatever it came to, that this is asked for again says that it did not last.
		retry := last.End.Add(retryDelay)
		switch {
		case !last.State.Ended():
			cmd.ID = last.ID
		case v.Now.Before(retry):
			p.after(v.Now, retry)
			return
		default:
			cmd.ID = fmt.Sprintf("%s~%d", base, last.End.Unix())
		}
	}
	p.Command = &cmd
}

// commandID is the ID of the first command of a step.
func (v *View) commandID(serves, step string) string {
	return strings.Join([]string{string(v.Server.UID), serves, step}, "/")
}

// reasonCommandFailed is a reason of the conditions about power.
const reasonCommandFailed = "CommandFailed"

// retryDelay is how long a command that failed, or did not last, is left alone. The BMC's own
// back-off is the fleet's; this one keeps a refused command from being a storm.
const retryDelay = 15 * time.Second

// powerOff orders the machine off and says so in the WaitingForPowerOff condition.
func (v *View) powerOff(p *Plan, serves string, force bool) {
	v.command(p, serves, "off", fleet.Command{Kind: fleet.PowerOff, Budget: v.shutdownBudget(serves), Force: force})
	if v.off() {
		return // it shall be seen once more, no more than that
	}
	if force {
		v.noteShutdown(p, serves, "off")
	}
	if err := v.trouble(fleet.PowerOff); err != nil {
		p.condition(metalv1.ConditionWaitingForPowerOff, metav1.ConditionTrue, reasonCommandFailed, "It is to be off, and %s", explain(err, "go off"))
		return
	}
	p.condition(metalv1.ConditionWaitingForPowerOff, metav1.ConditionTrue, "ShuttingDown",
		"The machine was asked to shut down, within %s%s", v.Policy.PowerOffBudget, map[bool]string{true: ", and is forced off after that"}[force])
}

// stuck says that the last power command failed and that it is too early for the next.
func (v *View) stuck(p *Plan) bool {
	last := v.System.Command
	return p.Command == nil && last.State == fleet.Failed && last.Err != nil
}

// trouble is why the newest order about power, of that kind, has not come true; nil: it has, or it is too early to say. A BMC that is busy
// for some seconds is no news.
func (v *View) trouble(kind fleet.CommandKind) error {
	last := v.System.Command
	if last.Kind != kind || last.Trouble == nil || last.State == fleet.Succeeded || last.State == fleet.Superseded {
		return nil
	}
	if !last.State.Ended() && v.Now.Before(last.TroubleSince.Add(while)) {
		return nil
	}
	return last.Trouble
}

// awaitTrouble asks to be woken when there is trouble to tell.
func (v *View) awaitTrouble(p *Plan) {
	if v.System == nil || v.System.Command.Trouble == nil || v.System.Command.State.Ended() {
		return
	}
	if at := v.System.Command.TroubleSince.Add(while); v.Now.Before(at) {
		p.after(v.Now, at)
	}
}

// explain says in words what is wrong with an order that has not come true: the BMC takes it and nothing follows, or does not take it.
func explain(err error, does string) string {
	if errors.Is(err, fleet.ErrNotObserved) {
		return fmt.Sprintf("the machine does not %s, or its BMC tells a power state that is not so; it is asked again: %v", does, err)
	}
	return fmt.Sprintf("the BMC does not carry the order to %s out, which is given again: %v", does, err)
}

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
