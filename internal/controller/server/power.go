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

// command orders cmd, unless it has just ended. Its ID is made of the server, the purpose (an attempt, a release) and the step, so
// that ordering it again, from this process or another, does nothing.
func (v *View) command(p *Plan, purpose, step string, cmd fleet.Command) {
	base := v.commandID(purpose, step)
	cmd.ID, cmd.System = base, v.System.URI
	last := v.System.Command
	if last.ID == base || strings.HasPrefix(last.ID, base+"~") {
		// Whatever its outcome, it did not last: it is asked for again.
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
func (v *View) commandID(purpose, step string) string {
	return strings.Join([]string{string(v.Server.UID), purpose, step}, "/")
}

const (
	// retryDelay is the time between a command that failed, or did not last, and its repetition. The fleet backs off from a BMC
	// that does not answer; this keeps a refused command from being repeated all the time.
	retryDelay = 15 * time.Second
	// troubleDelay is how long a BMC may fail to carry out an order until a condition says so: many are busy for some seconds.
	troubleDelay = 15 * time.Second
)

// powerOff orders the machine off and says so in condition WaitingForPowerOff.
func (v *View) powerOff(p *Plan, purpose string, force bool) {
	v.command(p, purpose, "off", fleet.Command{Kind: fleet.PowerOff, Budget: v.shutdownBudget(purpose), Force: force})
	if v.off() {
		return // one more observation is missing, no more
	}
	if force {
		v.noteShutdown(p, purpose, "off")
	}
	if err := v.trouble(fleet.PowerOff); err != nil {
		p.condition(metalv1.ConditionWaitingForPowerOff, metav1.ConditionTrue, reasonCommandFailed, "Waiting for the machine to go off: %s", explain(err, "go off"))
		return
	}
	p.condition(metalv1.ConditionWaitingForPowerOff, metav1.ConditionTrue, "ShuttingDown",
		"Waiting for the machine to shut down within %s%s", v.Policy.PowerOffBudget, map[bool]string{true: ", before it is forced off"}[force])
}

// stuck reports whether the last power command failed and it is too early for the next.
func (v *View) stuck(p *Plan) bool {
	last := v.System.Command
	return p.Command == nil && last.State == fleet.Failed && last.Err != nil
}

// trouble is why the newest power command, of that kind, has no effect; nil: it has, or it is too early to say.
func (v *View) trouble(kind fleet.CommandKind) error {
	last := v.System.Command
	if last.Kind != kind || last.Trouble == nil || last.State == fleet.Succeeded || last.State == fleet.Superseded {
		return nil
	}
	if !last.State.Ended() && v.Now.Before(last.TroubleSince.Add(troubleDelay)) {
		return nil
	}
	return last.Trouble
}

// awaitTrouble asks for a reconcile when there is trouble to report.
func (v *View) awaitTrouble(p *Plan) {
	if v.System == nil || v.System.Command.Trouble == nil || v.System.Command.State.Ended() {
		return
	}
	if at := v.System.Command.TroubleSince.Add(troubleDelay); v.Now.Before(at) {
		p.after(v.Now, at)
	}
}

// explain tells people what is wrong with a power command that has no effect: the BMC accepts it and nothing follows, or refuses it.
func explain(err error, does string) string {
	if errors.Is(err, fleet.ErrNotObserved) {
		return fmt.Sprintf("the machine does not %s, or its BMC reports a wrong power state; trying again: %v", does, err)
	}
	return fmt.Sprintf("the BMC does not carry out the command to %s; trying again: %v", does, err)
}

// A machine that is forced off after its budget must not get a new budget from each process: a manager that restarts often would wait
// for ever. So the start of the shutdown is remembered, which is when the BMC accepted the order: while it does not answer, the
// operating system hears nothing.
const (
	// shutdownNoted is how long a shutdown takes before its start is written: most are over by then.
	shutdownNoted = 10 * time.Second
	// shutdownLeast is the time that an operating system gets in any case, up to the budget.
	shutdownLeast = 10 * time.Second
)

// shutdownBudget is the time that the machine has from now on to shut down for that purpose.
func (v *View) shutdownBudget(purpose string) time.Duration {
	budget := v.Policy.PowerOffBudget
	since := shutdownSince(v.Server, purpose)
	if since.IsZero() || since.After(v.Now) {
		return budget
	}
	return max(budget-v.Now.Sub(since), min(budget, shutdownLeast))
}

// noteShutdown remembers the start of the shutdown.
func (v *View) noteShutdown(p *Plan, purpose, step string) {
	last := v.System.Command
	asked := strings.HasPrefix(last.ID, v.commandID(purpose, step)) && last.State == fleet.Running && last.Sent != "" && !last.Forced
	if !asked || !shutdownSince(v.Server, purpose).IsZero() {
		return
	}
	if due := last.Start.Add(shutdownNoted); v.Now.Before(due) {
		p.after(v.Now, due)
		return
	}
	p.edit(setAnnotation{annotationShutdown, purpose + "@" + last.Start.UTC().Format(time.RFC3339)})
}

// forgetShutdown removes the start of the shutdown once the machine is off: the next one has its own budget.
func (v *View) forgetShutdown(p *Plan) {
	if v.off() && v.Server.Annotations[annotationShutdown] != "" {
		p.edit(removeAnnotation(annotationShutdown))
	}
}
