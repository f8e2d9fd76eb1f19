package server

import (
	"cmp"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// acknowledgeDelay is how long a boot waits for a boot server to know its attempt.
const acknowledgeDelay = 10 * time.Second

// How old the observation may be that a machine is off which is about to be switched on. If somebody presses its button in between, the boot comes to
// nothing. One of a probe is then repeated, so the last regular poll is enough for it, however long its server has waited for its turn.
const (
	seenLately = 30 * time.Second
	seenByPoll = 5 * time.Minute
)

// bootOptions says how a machine is booted.
type bootOptions struct {
	// cold: the machine must be seen off first; force allows to force it off.
	cold, force bool
	// defaults: the BIOS gets its defaults back before the machine is switched on.
	defaults bool
	// again: a machine that goes off after it had started gets a new attempt; anew: it gets one now.
	again, anew bool
	// disk: a new attempt boots the disk; reinstall is the request for the newest attempt that does not.
	disk      bool
	reinstall string
}

// boot takes the boot attempt of v.Boot one step further. It reports whether the attempt has started.
func (v *View) boot(p *Plan, how bootOptions) bool {
	a, ready := v.Attempt, v.bootReady(p)
	if !a.Begun() || how.anew || (how.again && a.Started != nil && v.off() && v.seenSince(a.Started)) {
		if (ready || how.disk) && v.System != nil {
			p.Attempt = v.nextAttempt(how)
		}
		return false
	}
	if a.Started != nil {
		return true
	}
	switch {
	case v.System == nil:
		return false // after a start of the manager nothing is known yet
	case how.cold && a.Off == nil && v.off() && v.seenSince(a.Ordered):
		p.Attempt = a.SeenOff(v.Now)
	case how.cold && a.Off == nil:
		v.powerOff(p, a.ID, how.force)
		if v.off() {
			p.awaits(AwaitsPowerOff, *a.Ordered)
		}
	case v.BootInternal && !ready && (!v.on() || !v.seenSince(a.Ordered)): // it was ordered together with its preparation
		if v.Boot.Status.State != metalv1.ServerBootConfigurationStateError {
			p.awaits(AwaitsBootConfiguration, v.Boot.CreationTimestamp.Time)
		}
	case how.defaults && a.Defaults == nil:
		if v.restoreDefaults(p) {
			p.Attempt = a.SeenDefaults(v.Now)
		}
	case v.on() && v.seenSince(a.Ordered):
		p.Attempt = a.SeenOn(v.Now)
	case !a.Exits() && !v.Acknowledged && (v.Now.Before(v.bootableSince().Add(acknowledgeDelay)) || v.Deriving):
		p.after(v.Now, v.acknowledgedBy())
		p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, "NotAcknowledged", "Waiting until a boot server has this boot")
		p.awaits(AwaitsBootServer, v.bootableSince())
	default:
		v.powerOn(p, "on")
		if v.trouble(fleet.PowerOn) == nil && v.Unreachable == nil {
			p.awaits(AwaitsPowerOn, *cmp.Or(a.Off, a.Ordered))
		}
	}
	return false
}

// acknowledgedBy is when the boot goes on without a boot server that knows it, or it is looked again whether it can.
func (v *View) acknowledgedBy() time.Time {
	if until := v.bootableSince().Add(acknowledgeDelay); v.Now.Before(until) {
		return until
	}
	return v.Now.Add(acknowledgeDelay)
}

// bootableSince is when the boot was ordered; of one that was ordered together with its preparation, when its boot configuration became ready after
// that.
func (v *View) bootableSince() time.Time {
	since := *v.Attempt.Ordered
	if ready := apimeta.FindStatusCondition(v.Boot.Status.Conditions, metalv1.ConditionReady); v.BootInternal && ready != nil && ready.Status == metav1.ConditionTrue {
		if at := ready.LastTransitionTime.Time; at.After(since) && !v.inFuture(at) {
			return at
		}
	}
	return since
}

// prepare has the boot of the probe prepared. It is ordered in the same write where the last poll saw the machine off, so that the next step is to
// switch it on. A boot that only a BMC can identify is ordered once it is known how the machine boots.
func (v *View) prepare(p *Plan) {
	p.Prepare, p.Order = true, v.System != nil && v.offLately(true) && !v.Policy.BMCIdentity
}

// offLately reports whether the machine was seen off lately enough for a boot, of a probe or another, and nothing has been ordered since: a cold boot need
// not look again.
func (v *View) offLately(probe bool) bool {
	age := seenLately
	if probe {
		age = seenByPoll
	}
	last := v.System.Command
	saw := last.Kind == fleet.PowerOff && last.State == fleet.Succeeded // the end of that command is that the machine was seen off
	settled := last.ID == "" || saw || last.State.Ended() && v.System.Seen.After(last.End)
	return v.off() && settled && v.Now.Before(v.System.Seen.Add(age))
}

// nextAttempt is the attempt that follows v.Attempt.
func (v *View) nextAttempt(how bootOptions) *bootattempt.Attempt {
	n := v.Attempt.Next(v.NewID(), v.Now)
	if how.cold && v.offLately(v.BootInternal) {
		n.Off = &v.Now // one write in place of two
	}
	n.Disk, n.Cold, n.Reinstall = how.disk, how.anew, how.reinstall
	n.Generation, n.Ignition = v.Boot.Generation, bootconfig.Ignition(v.Boot)
	if how.disk && v.Attempt != nil {
		n.Generation, n.Ignition = v.Attempt.Generation, v.Attempt.Ignition
	}
	return n
}

// powerOn orders the boot of v.Boot in its current attempt.
func (v *View) powerOn(p *Plan, step string) {
	cmd := fleet.Command{Kind: fleet.PowerOn}
	if !v.Attempt.Exits() { // an override that is set is cleared
		cmd.Boot = v.bootOverride()
	}
	v.command(p, v.Attempt.ID, step, cmd)
	v.poweringOn(p)
}

// poweringOn says in condition PoweringOn how far an ordered boot has come.
func (v *View) poweringOn(p *Plan) {
	reason, now := "BootOrdered", ""
	err := v.trouble(fleet.PowerOn)
	switch {
	case err != nil:
		reason, now = reasonCommandFailed, ": "+explain(err, "go on")
	case v.System.PowerState == bmc.PowerPoweringOn:
		reason, now = "SelfTest", "; the machine runs its power-on self test"
	}
	p.condition(metalv1.ConditionPoweringOn, metav1.ConditionTrue, reason, "Boot %d of %s/%s was ordered%s", v.Attempt.Number, v.Boot.Namespace, v.Boot.Name, now)
}

// bootReady reports whether the boot configuration can be booted, and says so in condition BootReady.
func (v *View) bootReady(p *Plan) bool {
	switch {
	case v.Boot == nil && !v.BootOfAnother && (v.Claim != nil || v.Maintenance != nil): // whose controller makes it
		p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationPending", "Waiting for the boot configuration to exist")
	case v.Boot == nil:
		p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationMissing", "Waiting for the boot configuration to exist")
	case v.Boot.Status.State == metalv1.ServerBootConfigurationStateError:
		p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationError", "%s", bootProblem(v.Boot))
	case v.Boot.Status.State != metalv1.ServerBootConfigurationStateReady || !v.bootIsCurrent() || v.Deriving:
		p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationPending", "%s", bootProblem(v.Boot))
	default:
		if why, ok := v.bootsByBMC(); v.Policy.BMCIdentity && !ok {
			p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, "NotByBMC", "--boot-identity=bmc requires UEFI HTTP boot: %s", why)
			return false
		}
		p.condition(metalv1.ConditionBootReady, metav1.ConditionTrue, "BootConfigurationReady", "Boot configuration %s/%s is ready", v.Boot.Namespace, v.Boot.Name)
		return true
	}
	return false
}

// bootIsCurrent reports whether the status of the boot configuration is about its current spec.
func (v *View) bootIsCurrent() bool {
	observed := v.Boot.Status.ObservedGeneration
	return observed == v.Boot.Generation || v.Policy.ForeignBoot && observed == 0
}

// bootProblem is why the boot configuration is not ready, for people.
func bootProblem(config *metalv1.ServerBootConfiguration) string {
	return fmt.Sprintf("Boot configuration %s/%s: %s", config.Namespace, config.Name, bootconfig.Problem(config))
}

// bootOverride follows the image, as far as the BMC offers it. A machine of another boot provider boots by the first method.
func (v *View) bootOverride() bmc.BootOverride {
	m := bootmethod.Choose(v.Made, v.offers)
	return bmc.BootOverride{Target: bmc.BootTarget(m.Target), URI: m.URLFor(v.BMCToken)}
}

// bootsByBMC reports whether the BMC can be given a URL of ours for the boot, and why not.
func (v *View) bootsByBMC() (why string, ok bool) {
	m, ok := bootmethod.ChooseOurs(v.Made, v.offers)
	switch {
	case !ok:
		return "the image contains no " + bootmethod.FileNames(), false
	case !v.offers(m.Target):
		return "the BMC offers no " + m.Name, false
	}
	return "", true
}

// offers reports whether the BMC offers a boot override, as far as is known.
func (v *View) offers(target string) bool {
	return v.System == nil || v.System.Boot.Offers(bmc.BootTarget(target))
}
