package firmwareversion

import (
	"fmt"
	"time"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

const (
	// startGrace is how long a task may wait before the machine is started for it.
	startGrace = 30 * time.Second
	// stallTimeout is how long a task may say the same before the BMC is reset: some write for a quarter of an hour at one percentage.
	stallTimeout = 25 * time.Minute
	// unseenTime is how long an update is given whose task cannot be looked at, before the machine is started with what was written.
	unseenTime = 15 * time.Minute
	// verifyTimeout is for the restart of a BMC, or the self test of a server with much memory after an update.
	verifyTimeout = 30 * time.Minute
	// settleTime is how long a version that is neither the old nor the one asked for may change yet.
	settleTime = 2 * time.Minute
	// endGrace is how long a task is waited for when the version is there.
	endGrace = 5 * time.Minute
)

// follow looks at the task and at the version until that is there.
func (v *view) follow(p *plan) {
	l := v.lookOf(p)
	if l == nil {
		return
	}
	if v.note(p, l) {
		return
	}
	quiet := v.now.Sub(v.progress.Moved)
	running := v.progress.Task != "" && !l.gone && !l.task.State.Ended()
	waits := running && l.task.WaitsForStart() && !v.item.kind.ofBMC
	switch {
	case v.arrived(l.version) && (!running || quiet >= endGrace):
		v.landed(p)
	case l.task.State == bmc.TaskFailed && !l.gone:
		v.fail(p, reasonTaskFailed, fmt.Sprintf("the BMC's task %s is %s: %s", v.progress.Task, l.task.Said, l.task.Message))
	case waits && !v.progress.Restarted && quiet >= startGrace:
		p.progress = v.progress.next(stepRestart, v.now)
	case running && quiet >= stallTimeout && !v.progress.Reset:
		p.progress = v.progress.next(stepReset, v.now)
	case running && quiet >= stallTimeout:
		v.fail(p, reasonTaskStuck, fmt.Sprintf("the BMC's task %s stays %s at %d %%, also after a reset of the BMC", v.progress.Task, l.task.Said, l.task.Percent))
	case running:
		v.lookAgain(p)
	default:
		v.verify(p, l, quiet)
	}
}

// note remembers what the task says, where that is something else than before.
func (v *view) note(p *plan, l *look) bool {
	now := v.progress
	if now.Task == "" || l.gone {
		return false
	}
	uri := l.task.URI
	if uri == "" {
		uri = now.Task
	}
	if now.Said == l.task.Said && now.Percent == l.task.Percent && now.Task == uri {
		return false
	}
	n := *now
	n.Task, n.Said, n.Percent, n.Moved = uri, l.task.Said, l.task.Percent, v.now.UTC()
	p.progress = &n
	return true
}

// verify waits for the version of an update whose task has ended, has gone, or was never there.
func (v *view) verify(p *plan, l *look, quiet time.Duration) {
	unseen := v.progress.Task == "" || l.gone
	changed := l.version != "" && bmc.CompareVersions(l.version, v.progress.From) != 0
	switch {
	case v.progress.Reset && l.gone && quiet >= settleTime:
		v.fail(p, reasonTaskStuck, fmt.Sprintf("the BMC's task %s stood still until the BMC was reset, and the version is still %q", v.progress.Task, l.version))
	case changed && quiet >= settleTime && (v.item.kind.ofBMC || v.progress.Restarted):
		v.giveUp(p, reasonWrongVersion, fmt.Sprintf("the update has ended with version %q, and should have with %q: is it another image's?", l.version, v.hop.version))
	case !v.item.kind.ofBMC && !v.progress.Restarted && (!unseen || quiet >= unseenTime):
		p.progress = v.progress.next(stepRestart, v.now)
	case quiet >= verifyTimeout && unseen && v.progress.Task != "":
		v.fail(p, reasonTaskVanished, fmt.Sprintf("the BMC has forgotten its task %s, and the version is still %q", v.progress.Task, l.version))
	case quiet >= verifyTimeout:
		v.fail(p, reasonUnchanged, fmt.Sprintf("the update has ended, and %s later the version is still %q", verifyTimeout, l.version))
	default:
		v.lookAgain(p)
	}
}

// reset resets the BMC, and waits until it answers again.
func (v *view) reset(p *plan) {
	switch v.command.State {
	case fleet.Succeeded:
		p.progress = v.progress.next(stepFollow, v.now)
		p.progress.Reset, p.progress.Moved = true, v.now.UTC()
	case fleet.Failed:
		if v.goesBackBy(farrierv1.RollbackOtherBank) {
			v.fail(p, reasonBMCNotBack, fmt.Sprintf("the BMC cannot be reset, and would run from its other bank then: %v", v.command.Err))
			return
		}
		v.fail(p, reasonTaskStuck, fmt.Sprintf("the BMC's task %s stands still, and the BMC cannot be reset: %v", v.progress.Task, v.command.Err))
	default:
		p.command = fleet.ResetManager
	}
}

// lookOf returns what was read since the present step began; nil: it is being read.
func (v *view) lookOf(p *plan) *look {
	l := v.looked
	switch {
	case l == nil || l.begun.Before(v.progress.Since) || l.asked != v.asked || l.start:
		p.look = !v.busy
		return nil
	case l.err != nil:
		v.lookAgain(p)
		p.message += ": " + l.err.Error()
		return nil
	}
	return l
}

// pause is how long a BMC is left alone that is not so far: the longer, the longer it has been awaited.
func (v *view) pause() time.Duration {
	return min(max(pollEvery, v.now.Sub(v.progress.Since)/2), longestPoll)
}

func (v *view) lookAgain(p *plan) {
	if again := v.looked.begun.Add(v.pause()); v.now.Before(again) {
		p.wake(v.now, again)
		return
	}
	p.look = !v.busy
}
