package biossettings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reasons for which an attempt fails.
const (
	reasonWriteFailed    = "WriteFailed"
	reasonPowerFailed    = "PowerFailed"
	reasonTaskFailed     = "TaskFailed"
	reasonNotVerified    = "NotVerified"
	firstRetry           = time.Minute
	longestRetry         = 30 * time.Minute
	pollEvery            = 10 * time.Second // of a BMC that is awaited
	longestPoll          = 30 * time.Second // of one that has been awaited for longer
	writeTimeout         = 15 * time.Minute
	verifyTimeout        = 30 * time.Minute // a server with much memory takes a quarter of an hour for its self test
	longestMessage       = 512
	messageOfTheFirmware = "the firmware says: "
)

// advance takes the step that is under way further.
func (v *view) advance(p *plan) plan {
	p.maintain = v.progress.Step != stepFinish
	state := metalv1.BIOSSettingsStateInProgress
	switch {
	case v.server == nil:
		// It was deleted with everything that was made for it.
		p.maintain, p.release = false, true
		p.progress = v.progress.next(stepFailed, v.now)
		p.progress.Reason, p.progress.Message = reasonServerNotFound, "The Server was deleted while its settings were being applied"
		return p.say(metalv1.BIOSSettingsStateFailed, reasonServerNotFound, "%s", p.progress.Message)
	case !v.maintenance.Granted() && v.progress.Step == stepFinish:
		return v.end(p)
	case v.deleting && (!v.maintenance.Granted() || v.progress.Step == stepBegin):
		return v.abandon(p)
	case v.progress.Step != stepFinish && v.names() != nil:
		v.giveUp(p, reasonDuplicateName, v.names().Error()) // begun before anybody looked at the names
		return p.say(state, reasonDuplicateName, "%v", v.names())
	case !v.maintenance.Granted():
		return p.say(state, reasonWaitingForMaintenance, "%s", v.maintenance.Waiting())
	case v.unreachable != nil:
		return p.say(state, reasonBMCUnreachable, "%v%s", v.unreachable, v.letGo())
	case v.system == nil:
		return p.say(state, reasonBMCUnreachable, "Waiting for the BMC's first answer%s", v.letGo())
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
		v.begin(p)
	case stepWrite:
		v.write(p)
	case stepOff:
		v.switchPower(p, bmc.PowerOff, fleet.PowerOff, stepOn)
	case stepOn:
		v.switchPower(p, bmc.PowerOn, fleet.PowerOn, stepVerify)
	case stepVerify:
		v.verify(p)
	case stepFinish:
		if v.progress.Powered && v.system.PowerState != bmc.PowerOff {
			v.switchPower(p, bmc.PowerOff, fleet.PowerOff, stepFinish)
			break
		}
		return v.end(p)
	}
	return *p
}

// letGo says how an object is deleted whose BMC is not waited for.
func (v *view) letGo() string {
	if !v.deleting {
		return ""
	}
	return fmt.Sprintf("; Farrier deletes the object once the machine is returned, or at once with the annotation %s=%s", metalv1.AnnotationOperation, metalv1.OperationAllowInProgressDelete)
}

// abandon makes no further attempt for an object that is being deleted. A machine that is ours is switched off first.
func (v *view) abandon(p *plan) plan {
	p.progress, p.maintain = v.progress.next(stepFailed, v.now), false
	if v.maintenance.Granted() && v.progress.Powered {
		p.progress.Step, p.progress.GaveUp = stepFinish, true
	} else {
		p.release = true
	}
	p.progress.Reason, p.progress.Message, p.progress.Item = reasonDeleted, "The object was deleted before its settings were applied", ""
	return p.say(metalv1.BIOSSettingsStateInProgress, reasonDeleted, "%s", p.progress.Message)
}

// doing says what is being done.
func (v *view) doing() string {
	text := map[step]string{
		stepBegin: "Reading the settings that differ", stepWrite: "Writing the settings", stepOff: "Switching the machine off",
		stepOn: "Starting the machine", stepVerify: "Waiting for the firmware to apply the settings",
		stepFinish: "Returning the machine",
	}[v.progress.Step]
	if v.progress.Item != "" {
		text = fmt.Sprintf("spec.settingsFlow %q: %s", v.progress.Item, text)
	}
	return text
}

// begin finds the first part of the flow that differs.
func (v *view) begin(p *plan) {
	if n := v.progress.NotBefore; n != nil && v.now.Before(*n) {
		p.wake(v.now, *n)
		return
	}
	l := v.lookOf(p)
	if l == nil {
		return
	}
	if err := v.check(l); err != nil {
		v.giveUp(p, reasonOf(err, reasonInvalidValue), err.Error())
		return
	}
	if len(l.foreign) > 0 {
		v.giveUp(p, reasonUnexpectedPending, l.unexpected().Error())
		return
	}
	if len(differing(final(v.flow), l.bios.Attributes)) == 0 {
		p.progress = v.progress.next(stepFinish, v.now)
		return
	}
	v.follow(p, 0, l)
}

// follow goes on with the first part of the flow, from the i-th on, that differs.
func (v *view) follow(p *plan, i int, l *look) {
	p.progress = v.progress.next(stepFinish, v.now)
	p.progress.Item, p.progress.Task = "", ""
	for _, item := range v.flow[i:] {
		if len(differing(item.Settings, l.bios.Attributes)) > 0 {
			p.progress.Item, p.progress.Step, p.progress.Wrote = item.Name, stepWrite, v.progress.writing(item.Settings)
			return
		}
	}
}

// item is the part of the flow that is under way, and where it stands.
func (v *view) item() (metalv1.SettingsFlowItem, int) {
	i := slices.IndexFunc(v.flow, func(item metalv1.SettingsFlowItem) bool { return item.Name == v.progress.Item })
	if i < 0 {
		return metalv1.SettingsFlowItem{Name: v.progress.Item}, 0
	}
	return v.flow[i], i
}

// write has the part under way sent to the BMC, once for each attempt unless the BMC is too busy for it.
func (v *view) write(p *plan) {
	l := v.looked
	if l == nil || !l.of.Equal(v.progress.Since) {
		p.write = !v.busy
		return
	}
	item, i := v.item()
	switch {
	case l.err != nil && notNow(l.err) && v.now.Before(v.progress.Since.Add(writeTimeout)):
		if again := l.begun.Add(v.pause()); v.now.Before(again) {
			p.wake(v.now, again)
		} else {
			p.write = !v.busy
		}
	case l.err != nil && reasonOf(l.err, "") != "":
		v.giveUp(p, reasonOf(l.err, reasonInvalidValue), l.err.Error())
	case l.err != nil:
		v.fail(p, reasonWriteFailed, l.err.Error())
	case len(differing(item.Settings, l.bios.Attributes)) == 0:
		v.follow(p, i+1, l) // it needs no reset
	default:
		p.progress = v.progress.next(stepOff, v.now)
		p.progress.Task, p.progress.Powered = l.task.URI, true
	}
}

// switchPower waits until the machine is seen in a power state, and orders it there.
func (v *view) switchPower(p *plan, want bmc.PowerState, kind fleet.CommandKind, then step) {
	switch {
	case v.system.PowerState == want && v.system.Seen.After(v.progress.Since):
		p.progress = v.progress.next(then, v.now)
	case v.power.State == fleet.Failed:
		v.fail(p, reasonPowerFailed, fmt.Sprintf("%s: %v", kind, v.power.Err))
	case v.power.State == fleet.Succeeded:
		p.wake(v.now, v.now.Add(pollEvery)) // it was seen, and is about to be told
		p.look = !v.busy && v.system.PowerState == want
	default:
		p.power = kind
	}
}

// verify reads the settings until the firmware has taken them over.
func (v *view) verify(p *plan) {
	l := v.lookOf(p)
	if l == nil {
		return
	}
	item, i := v.item()
	names := differing(item.Settings, l.bios.Attributes)
	switch {
	case len(names) == 0:
		v.follow(p, i+1, l)
	case l.task.State == bmc.TaskFailed:
		v.fail(p, reasonTaskFailed, fmt.Sprintf("the BMC's task %s failed: %s", v.progress.Task, l.task.Message))
	case !v.now.Before(v.progress.Since.Add(verifyTimeout)):
		message := fmt.Sprintf("%s still differ %s after the start", strings.Join(names, ", "), verifyTimeout)
		if len(l.bios.Messages) > 0 {
			message += "; " + messageOfTheFirmware + strings.Join(l.bios.Messages, "; ")
		}
		v.fail(p, reasonNotVerified, message)
	default:
		v.lookAgain(p)
	}
}

// lookOf returns what was read since the present step began; nil: it is being read.
func (v *view) lookOf(p *plan) *look {
	l := v.looked
	switch {
	case l == nil || l.begun.Before(v.progress.Since) || l.asked != v.asked:
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

// fail ends an attempt, and all of them where the policy allows no further one.
func (v *view) fail(p *plan, reason, message string) {
	n := v.progress.next(stepBegin, v.now)
	n.Failures++
	n.Reason, n.Message, n.Item, n.Task = reason, message[:min(len(message), longestMessage)], "", ""
	retries := int32(0)
	if policy := v.obj.Spec.RetryPolicy; policy != nil && policy.MaxAttempts != nil {
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

// end lets go of the server.
func (v *view) end(p *plan) plan {
	p.maintain, p.release = false, true
	if v.progress.GaveUp {
		p.progress = v.progress.next(stepFailed, v.now)
		return p.say(metalv1.BIOSSettingsStateFailed, v.progress.Reason, "%s", v.progress.Message)
	}
	p.progress = &progress{Asked: v.asked, Step: stepDone, Since: v.now.UTC(), Failures: v.progress.Failures}
	return p.say(metalv1.BIOSSettingsStateApplied, reasonApplied, "The BIOS has all %d settings", len(final(v.flow)))
}
