package bmcsettings

import (
	"fmt"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reasons for which an attempt fails.
const (
	reasonWriteFailed   = "WriteFailed"
	reasonRestartFailed = "RestartFailed"
	reasonBMCNotBack    = "BMCNotBack"
	reasonTaskFailed    = "TaskFailed"
	reasonNotVerified   = "NotVerified"
)

const (
	firstRetry   = time.Minute
	longestRetry = 30 * time.Minute
	pollEvery    = 10 * time.Second // of a BMC that is awaited
	longestPoll  = 30 * time.Second // of one that has been awaited for longer
	writeTimeout = 15 * time.Minute
	// settleTime is how long a BMC is given to show what it was sent before it is restarted.
	settleTime = time.Minute
	// goneTime is how long after its restart a BMC may answer still, before it goes.
	goneTime = 20 * time.Second
	// backTimeout is how long a BMC may be away: the slowest take ten minutes.
	backTimeout = 20 * time.Minute
	// verifyTimeout is how long after its restart a BMC may take to show the settings.
	verifyTimeout = 10 * time.Minute
)

// advance takes the step that is under way further.
func (v *view) advance(p *plan) plan {
	p.maintain = true
	state := metalv1.BMCSettingsStateInProgress
	switch {
	case v.bmc == nil:
		// It was deleted with everything that was made for it.
		return v.stop(p, reasonBMCNotFound, "The BMC was deleted while its settings were being applied")
	case v.deleting && (!v.maintenance.Granted() || v.progress.Step == stepBegin):
		return v.stop(p, reasonDeleted, "The object was deleted before its settings were applied")
	case v.invalid != nil:
		return v.stop(p, reasonOf(v.invalid, reasonInvalidValue), v.invalid.Error())
	case !v.maintenance.Granted():
		return p.say(state, reasonWaitingForMaintenance, "%s", v.maintenance.Waiting())
	case v.unreachable != nil || v.manager == nil:
		return v.away(p)
	case v.locked != nil:
		p.wake(v.now, v.now.Add(pollEvery))
		return p.say(state, reasonWaitingForBMC, "%v", v.locked)
	}
	p.say(state, reasonApplying, "%s", v.doing())
	if v.progress.Reason != "" {
		p.say(state, reasonRetrying, "%s; attempt %d failed: %s", v.doing(), v.progress.Failures, v.progress.Message)
	}
	switch v.progress.Step {
	case stepBegin:
		return v.begin(p)
	case stepWrite:
		return v.write(p)
	case stepRestart:
		return v.restartBMC(p)
	default:
		return v.verify(p)
	}
}

// doing says what is being done.
func (v *view) doing() string {
	return map[step]string{
		stepBegin: "Reading the settings that differ", stepWrite: "Writing the settings", stepRestart: "Restarting the BMC",
		stepVerify: "Waiting for the BMC to show the settings",
	}[v.progress.Step]
}

// away waits for a BMC that does not answer. One that does not come back is given up, so that its servers are not kept.
func (v *view) away(p *plan) plan {
	why := "it has not answered yet"
	if v.unreachable != nil {
		why = v.unreachable.Error()
	}
	until := v.progress.Since.Add(backTimeout)
	if n := v.progress.NotBefore; n != nil {
		until = n.Add(backTimeout)
	}
	if v.now.Before(until) {
		p.wake(v.now, until)
		return p.say(metalv1.BMCSettingsStateInProgress, reasonBMCUnreachable, "Waiting for the BMC: %s", why)
	}
	return v.stop(p, reasonBMCNotBack, fmt.Sprintf("the BMC has not answered for %s while its settings were being applied: %s", backTimeout, why))
}

// begin finds out what differs, and whether it can be applied.
func (v *view) begin(p *plan) plan {
	if n := v.progress.NotBefore; n != nil && v.now.Before(*n) {
		p.wake(v.now, *n)
		return *p
	}
	l := v.lookOf(p)
	switch {
	case l == nil:
	case len(l.differing) == 0:
		return v.done(p, l)
	case l.refused != nil:
		return v.stop(p, reasonOf(l.refused, reasonInvalidValue), l.refused.Error())
	default:
		p.progress = v.progress.next(stepWrite, v.now)
		p.progress.Restarted, p.progress.Task, p.progress.NotBefore = false, "", nil
	}
	return *p
}

// write has the settings sent to the BMC, once for each attempt unless the BMC is too busy for it.
func (v *view) write(p *plan) plan {
	l := v.looked
	if l == nil || !l.of.Equal(v.progress.Since) || l.asked != v.asked {
		p.write = !v.busy
		return *p
	}
	switch {
	case l.err != nil && notNow(l.err) && v.now.Before(v.progress.Since.Add(writeTimeout)):
		if again := l.begun.Add(v.pause()); v.now.Before(again) {
			p.wake(v.now, again)
		} else {
			p.write = !v.busy
		}
		return *p
	case l.err != nil && reasonOf(l.err, "") != "":
		return v.stop(p, reasonOf(l.err, ""), l.err.Error())
	case l.err != nil:
		return v.fail(p, reasonWriteFailed, l.err.Error())
	case len(l.differing) == 0 && !l.restart:
		return v.done(p, l)
	}
	p.progress = v.progress.next(stepVerify, v.now)
	if l.restart {
		p.progress = v.progress.next(stepRestart, v.now)
	}
	p.progress.Task, p.progress.Hidden = l.task.URI, l.sent
	return *p
}

// restartBMC has the BMC restarted. A BMC that breaks the connection off while it restarts has understood.
func (v *view) restartBMC(p *plan) plan {
	switch {
	case v.restart.State == fleet.Failed && !broken(v.restart.Err):
		if bmc.KindOf(v.restart.Err) == bmc.KindUnsupported {
			return v.stop(p, reasonRestartFailed, fmt.Sprintf("the settings need a restart of the BMC: %v", v.restart.Err))
		}
		return v.fail(p, reasonRestartFailed, fmt.Sprintf("restart the BMC: %v", v.restart.Err))
	case v.restart.State.Ended():
		p.progress = v.progress.next(stepVerify, v.now)
		p.progress.Restarted = true
	case v.restart.State == "":
		p.restart = true
	}
	return *p
}

func broken(err error) bool {
	kind := bmc.KindOf(err)
	return kind == bmc.KindConnection || kind == bmc.KindTimeout
}

// verify reads the settings until the BMC shows them, and restarts it where it does not by itself.
func (v *view) verify(p *plan) plan {
	if gone := v.progress.Since.Add(goneTime); v.progress.Restarted && v.now.Before(gone) {
		p.wake(v.now, gone)
		return *p
	}
	timeout := settleTime
	if v.progress.Restarted {
		timeout = verifyTimeout
	}
	until := v.progress.Since.Add(timeout)
	l := v.lookOf(p)
	switch {
	case l == nil && v.looked != nil && v.looked.err != nil && !v.now.Before(v.progress.Since.Add(backTimeout)):
		return v.stop(p, reasonBMCNotBack, fmt.Sprintf("the BMC has not shown its settings for %s: %v", backTimeout, v.looked.err))
	case l == nil:
		return *p
	case len(l.differing) == 0:
		return v.done(p, l)
	case l.task.State == bmc.TaskFailed:
		return v.fail(p, reasonTaskFailed, fmt.Sprintf("the BMC's task %s failed: %s", v.progress.Task, l.task.Message))
	case v.now.Before(until):
		v.lookAgain(p)
	case !v.progress.Restarted:
		p.progress = v.progress.next(stepRestart, v.now)
	default:
		return v.fail(p, reasonNotVerified, fmt.Sprintf("%s still differ %s after the restart of the BMC", named(l.differing), verifyTimeout))
	}
	return *p
}

// lookOf returns what was read since the present step began; nil: it is being read.
func (v *view) lookOf(p *plan) *look {
	since := v.progress.Since
	if v.progress.Restarted && v.progress.Step == stepVerify {
		since = since.Add(goneTime) // before that it may be the BMC that is about to go
	}
	l := v.looked
	switch {
	case l == nil || l.begun.Before(since) || l.asked != v.asked:
		p.look = !v.busy
		return nil
	case l.err != nil:
		v.lookAgain(p)
		p.message = bounded(p.message + ": " + l.err.Error())
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

// fail ends an attempt, and all of them where the policy allows no further one.
func (v *view) fail(p *plan, reason, message string) plan {
	retries := int32(0)
	if policy := v.obj.Spec.RetryPolicy; policy != nil && policy.MaxAttempts != nil {
		retries = *policy.MaxAttempts
	}
	if v.deleting || v.progress.Failures+1 > int(retries) {
		return v.stop(p, reason, message)
	}
	n := v.progress.next(stepBegin, v.now)
	n.Failures++
	n.Reason, n.Message, n.Task, n.Restarted = reason, bounded(message), "", false
	at := v.now.Add(min(firstRetry<<min(n.Failures-1, 10), longestRetry)).UTC()
	n.NotBefore = &at
	p.progress = n
	return p.say(metalv1.BMCSettingsStateInProgress, reasonRetrying, "attempt %d failed: %s", n.Failures, message)
}

// stop ends all attempts, and lets go of the servers.
func (v *view) stop(p *plan, reason, message string) plan {
	n := v.progress.next(stepFailed, v.now)
	n.Failures++
	n.Reason, n.Message, n.Task, n.NotBefore = reason, bounded(message), "", nil
	p.progress, p.maintain, p.release = n, false, true
	return p.say(metalv1.BMCSettingsStateFailed, reason, "%s", message)
}

// done notes that the BMC shows the settings, and lets go of the servers.
func (v *view) done(p *plan, l *look) plan {
	p.progress = &progress{Asked: v.asked, Step: stepDone, Since: v.now.UTC(), Failures: v.progress.Failures, Hidden: l.hidden}
	p.maintain, p.release = false, true
	return p.say(metalv1.BMCSettingsStateApplied, reasonApplied, "%s", v.applied(l))
}
