package firmwareversion

import (
	"fmt"
	"time"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

const (
	firstRetry     = time.Minute
	longestRetry   = 30 * time.Minute
	pollEvery      = 10 * time.Second // of a BMC that is awaited
	longestPoll    = 30 * time.Second // of one that has been awaited for longer
	startTimeout   = 15 * time.Minute
	anotherTimeout = 30 * time.Minute // of an update that somebody else has started
	attemptTimeout = 90 * time.Minute
	longestMessage = 512
)

// advance takes the step that is under way further.
func (v *view) advance(p *plan) plan {
	k := v.item.kind
	p.maintain = v.progress.Step != stepFinish
	state := metalv1.VersionStateInProgress
	granted := v.maintenance.Granted()
	switch {
	case !v.found:
		// It was deleted with everything that was made for it.
		p.maintain, p.release = false, true
		p.progress = v.progress.next(stepFailed, v.now)
		p.progress.Reason = k.either(reasonServerNotFound, reasonBMCNotFound)
		p.progress.Message = fmt.Sprintf("The %s was deleted while its firmware was being updated", k.target())
		return p.say(metalv1.VersionStateFailed, p.progress.Reason, "%s", p.progress.Message)
	case v.progress.Step == stepFinish && (!granted || k.ofBMC || !v.progress.Powered):
		return v.end(p)
	case v.item.deleting() && (!granted || v.progress.Step == stepBegin):
		return v.abandon(p)
	case !granted:
		return p.say(state, reasonWaitingForMaintenance, "%s", v.maintenance.Waiting())
	case v.late():
		v.timeOut(p)
		return p.say(state, reasonRetrying, "%s", p.progress.Message)
	case v.locked != nil:
		p.wake(v.now, v.now.Add(pollEvery))
		return p.say(state, reasonWaitingForBMC, "%v", v.locked)
	case v.unreachable != nil && v.silent():
		p.wake(v.now, v.now.Add(longestPoll))
		p.look = !v.busy && v.progress.Step == stepFollow
		return p.say(state, reasonUpdating, "%s; the BMC does not answer, as it restarts", v.doing())
	case v.unreachable != nil:
		p.wake(v.now, v.now.Add(longestPoll))
		return p.say(state, reasonBMCUnreachable, "%v%s", v.unreachable, v.letGo())
	case !v.answered:
		return p.say(state, reasonBMCUnreachable, "Waiting for the BMC's first answer%s", v.letGo())
	}
	p.say(state, reasonUpdating, "%s", v.doing())
	if v.progress.Reason != "" {
		p.say(state, reasonRetrying, "%s; attempt %d failed: %s", v.doing(), v.progress.Failures, v.progress.Message)
	}
	switch v.progress.Step {
	case stepBegin:
		v.begin(p)
	case stepOff:
		v.switchPower(p, bmc.PowerOff, fleet.PowerOff, stepStart)
	case stepStart:
		v.start(p)
	case stepFollow:
		v.follow(p)
	case stepRestart:
		v.switchPower(p, bmc.PowerOff, fleet.PowerOff, stepOn)
	case stepOn:
		v.switchPower(p, bmc.PowerOn, fleet.PowerOn, stepFollow)
	case stepReset:
		v.reset(p)
	case stepFinish:
		if v.system != nil && v.system.PowerState != bmc.PowerOff {
			v.switchPower(p, bmc.PowerOff, fleet.PowerOff, stepFinish)
			break
		}
		return v.end(p)
	}
	return *p
}

// late reports whether the attempt has had all its time.
func (v *view) late() bool {
	switch v.progress.Step {
	case stepStart, stepFollow, stepReset, stepRestart, stepOn:
		return !v.now.Before(v.progress.Began.Add(attemptTimeout)) || v.away()
	}
	return false
}

// away reports whether the BMC has not come back from a restart in time.
func (v *view) away() bool {
	return v.unreachable != nil && v.silent() && !v.silentSince.IsZero() && !v.now.Before(v.silentSince.Add(verifyTimeout))
}

func (v *view) timeOut(p *plan) {
	if v.unreachable != nil {
		v.fail(p, reasonBMCNotBack, "the BMC does not answer any more after the start of the update: "+v.unreachable.Error())
		return
	}
	v.fail(p, reasonTimedOut, fmt.Sprintf("%s after its start the update has not ended, and the version is not there", attemptTimeout))
}

// silent reports whether the BMC may be silent now: it restarts with what was written, or was reset.
func (v *view) silent() bool {
	return v.progress.Step == stepReset || v.progress.Step == stepFollow && (v.item.kind.ofBMC || v.progress.Reset)
}

// letGo says how an object is deleted whose BMC is not waited for.
func (v *view) letGo() string {
	if !v.item.deleting() {
		return ""
	}
	return fmt.Sprintf("; Farrier deletes the object once the update has ended, or at once with the annotation %s=%s", metalv1.AnnotationOperation, metalv1.OperationAllowInProgressDelete)
}

// abandon makes no further attempt for an object that is being deleted. A machine that is ours is switched off first.
func (v *view) abandon(p *plan) plan {
	p.progress, p.maintain = v.progress.next(stepFailed, v.now), false
	if v.maintenance.Granted() && v.progress.Powered {
		p.progress.Step, p.progress.GaveUp = stepFinish, true
	} else {
		p.release = true
	}
	p.progress.Reason, p.progress.Message = reasonDeleted, "The object was deleted before its version was there"
	return p.say(metalv1.VersionStateInProgress, reasonDeleted, "%s", p.progress.Message)
}

// doing says what is being done, and since when.
func (v *view) doing() string {
	if v.progress.Step == stepReset && v.goesBackBy(farrierv1.RollbackOtherBank) {
		return "Resetting the BMC, which then runs from its other bank, since " + v.progress.Since.UTC().Format(time.TimeOnly) + " UTC"
	}
	text := map[step]string{
		stepBegin: "Reading the version", stepOff: "Switching the machine off for the update", stepStart: "Starting the update",
		stepFollow: "Following the update", stepRestart: "Switching the machine off to restart it", stepOn: "Starting the machine into its firmware's setup",
		stepReset: "Resetting the BMC, whose update stands still", stepFinish: "Returning the machine",
	}[v.progress.Step]
	if v.progress.Step == stepFollow && v.progress.Said != "" {
		text += fmt.Sprintf(", whose task is %s at %d %%,", v.progress.Said, v.progress.Percent)
	}
	switch {
	case v.goesBack():
		text += fmt.Sprintf(" (back to version %q)", v.goal.version)
	case v.hop.image != v.goal.image:
		text += fmt.Sprintf(" (to version %q first)", v.hop.version)
	}
	return text + " since " + v.progress.Since.UTC().Format(time.TimeOnly) + " UTC"
}

// begin reads the version, and whether the BMC is free.
func (v *view) begin(p *plan) {
	if n := v.progress.NotBefore; n != nil && v.now.Before(*n) {
		p.wake(v.now, *n)
		return
	}
	l := v.lookOf(p)
	switch {
	case l == nil:
		return
	case v.missing() && v.fetched.hopeless():
		v.cannotInstall(p, v.fetched.err)
		return
	case v.missing() && v.fetched.err != nil && !v.now.Before(v.progress.Since.Add(startTimeout)):
		v.fail(p, reasonImageUnavailable, v.fetched.err.Error())
		return
	case v.missing():
		v.awaitImage(p)
		return
	case l.other != nil && v.now.Before(v.progress.Since.Add(anotherTimeout)):
		p.say(metalv1.VersionStateInProgress, reasonAnotherUpdate, "The BMC has another update under way: %s is %s", l.other.URI, l.other.Said)
		v.lookAgain(p)
		return
	case l.other != nil:
		v.fail(p, reasonAnotherUpdate, fmt.Sprintf("The BMC has had another update under way for %s: %s is %s", anotherTimeout, l.other.URI, l.other.Said))
		return
	case v.reached(l.version):
		p.progress = v.progress.next(stepFinish, v.now)
		return
	case v.problem != nil:
		v.cannotInstall(p, v.problem)
		return
	case !v.item.kind.ofBMC && !v.system.Boot.Offers(bmc.BootSetup):
		v.giveUp(p, reasonNoIsolationBoot, fmt.Sprintf("The BMC cannot start the machine into its firmware's setup (boot target %s), and anything else would boot its disk in the middle of the update", bmc.BootSetup))
		return
	}
	p.progress = v.progress.next(stepOff, v.now)
	p.progress.Began, p.progress.From, p.progress.Known = v.now.UTC(), l.version, knownOf(l.tasks)
	p.progress.To, p.progress.Image = v.hop.version, v.hop.image
	if !v.goesBack() {
		p.progress.Rollback = v.catalog.rollbackOf(&v.hop, l.version)
	}
	if v.item.kind.ofBMC {
		p.progress.Step, p.progress.Sender = stepStart, v.process
		return
	}
	p.progress.Powered = p.progress.Powered || v.system.PowerState != bmc.PowerOff
}

// start has the update started, once for each attempt unless the BMC is too busy for it.
func (v *view) start(p *plan) {
	l := v.looked
	if v.problem != nil {
		v.cannotInstall(p, v.problem)
		return
	}
	if l == nil || !l.of.Equal(v.progress.Since) || !l.start {
		v.startWithImage(p)
		return
	}
	switch {
	case l.err != nil && notNow(l.err) && v.now.Before(v.progress.Since.Add(startTimeout)):
		if again := l.begun.Add(v.pause()); v.now.Before(again) {
			p.wake(v.now, again)
		} else {
			p.start = !v.busy
		}
	case l.err != nil && reasonOf(l.err, "") != "":
		v.giveUp(p, reasonOf(l.err, reasonUpdateRefused), l.err.Error())
	case l.err != nil:
		v.fail(p, reasonUpdateRefused, l.err.Error())
	default:
		p.progress = v.progress.next(v.afterStart(), v.now)
		p.progress.Task, p.progress.Known, p.progress.Moved = l.task.URI, nil, v.now.UTC()
	}
}

// afterStart is the step after the start of the update. Another bank takes a restart and no task.
func (v *view) afterStart() step {
	switch {
	case !v.goesBackBy(farrierv1.RollbackOtherBank):
		return stepFollow
	case v.item.kind.ofBMC:
		return stepReset
	}
	return stepRestart
}

// startWithImage orders the start. The image was there before the machine was switched off; a process that has begun since fetches it again.
func (v *view) startWithImage(p *plan) {
	switch {
	case !v.missing():
		p.wake(v.now, v.now.Add(lockTime/2)) // a large image takes longer than the exclusive lock lasts
		p.start = !v.busy
	case v.fetched.hopeless():
		v.cannotInstall(p, v.fetched.err)
	case v.now.Before(v.progress.Since.Add(startTimeout)):
		v.awaitImage(p)
	default:
		v.fail(p, reasonImageUnavailable, fmt.Sprintf("%s later Farrier has not fetched the image", startTimeout))
	}
}

// awaitImage waits until the image is there; its news wake the object.
func (v *view) awaitImage(p *plan) {
	p.wake(v.now, v.now.Add(startTimeout/2))
	if v.fetched.err != nil {
		p.message += ": " + v.fetched.err.Error()
		return
	}
	p.message += "; Farrier fetches the image"
}

// switchPower waits until the machine is seen in a power state, and orders it there.
func (v *view) switchPower(p *plan, want bmc.PowerState, kind fleet.CommandKind, then step) {
	if v.system == nil {
		return
	}
	switch {
	case v.system.PowerState == want && v.system.Seen.After(v.progress.Since):
		p.progress = v.progress.next(then, v.now)
		switch then {
		case stepStart:
			p.progress.Sender = v.process
		case stepOn:
			p.progress.Powered = true // what follows switches it on
		case stepFollow:
			p.progress.Restarted, p.progress.Moved = true, v.now.UTC()
		}
	case v.command.State == fleet.Failed && v.progress.Step == stepOn:
		v.fail(p, reasonMachineNotStarted, fmt.Sprintf("the machine does not start with what was written: %v", v.command.Err))
	case v.command.State == fleet.Failed:
		v.fail(p, reasonPowerFailed, fmt.Sprintf("%s: %v", kind, v.command.Err))
	case v.command.State == fleet.Succeeded:
		p.wake(v.now, v.now.Add(pollEvery)) // it was seen, and is about to be told
		p.look = !v.busy && v.system.PowerState == want
	default:
		p.command = kind
	}
}

// fail ends an attempt, and all of them where the policy allows no further one.
func (v *view) fail(p *plan, reason, message string) {
	n := v.progress.attempt(v.now)
	n.Failures++
	n.Reason, n.Message = reason, message[:min(len(message), longestMessage)]
	retries := int32(0)
	if policy := v.item.spec.RetryPolicy; policy != nil && policy.MaxAttempts != nil {
		retries = *policy.MaxAttempts
	}
	if n.Failures > int(retries) {
		n.Step, n.GaveUp = stepFinish, true
	} else {
		at := v.now.Add(min(firstRetry<<min(n.Failures-1, 10), longestRetry)).UTC()
		n.NotBefore = &at
	}
	if v.progress.Step == stepFinish { // the machine cannot be switched off; whoever gets it does that
		n.Step, n.Powered, n.GaveUp, n.NotBefore = stepFinish, false, v.progress.GaveUp, nil
	}
	p.progress = n
}

// giveUp ends all attempts: another one would not differ.
func (v *view) giveUp(p *plan, reason, message string) {
	v.fail(p, reason, message)
	p.progress.Step, p.progress.GaveUp, p.progress.NotBefore = stepFinish, true, nil
}

// cannotInstall ends all attempts, because the image cannot be installed.
func (v *view) cannotInstall(p *plan, err error) {
	v.giveUp(p, reasonOf(err, reasonInvalidImage), err.Error())
}

// end lets go of the servers.
func (v *view) end(p *plan) plan {
	p.maintain, p.release = false, true
	switch {
	case v.progress.GaveUp:
		p.progress = v.progress.next(stepFailed, v.now)
		return p.say(metalv1.VersionStateFailed, v.progress.Reason, "%s", v.progress.Message)
	case v.goesBack():
		return v.rolledBack(p)
	}
	p.progress = &progress{Asked: v.asked, Step: stepDone, Since: v.now.UTC(), Failures: v.progress.Failures, Rollback: v.progress.Rollback}
	return p.say(metalv1.VersionStateCompleted, reasonReached, "The %s has version %q", v.item.kind.firmware, v.item.spec.Version)
}
