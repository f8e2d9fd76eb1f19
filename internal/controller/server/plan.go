package server

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// reasonCommandFailed is a reason of the conditions about power.
const reasonCommandFailed = "CommandFailed"

// retryDelay is how long a command that failed, or did not last, is left alone. The BMC's own
// back-off is the fleet's; this one keeps a refused command from being a storm.
const retryDelay = 15 * time.Second

// acknowledgeDelay is how long a boot waits for a boot server to know of it.
const acknowledgeDelay = 10 * time.Second

// Plan is what a state wants done. All of it is optional.
type Plan struct {
	// Prepare and Remove are about the internal boot configuration and its secrets.
	Prepare, Remove bool
	// Clean is how thoroughly the probe that is prepared cleans; empty: not at all.
	Clean inspection.CleanMode
	// Again is the boot that came to nothing, in whose place one is prepared; nil: the first is.
	Again *bootattempt.Attempt
	// Record is written as the object of record of the cleanup. Forget deletes that object: the server is
	// in use again. Prune deletes old ones.
	Record        *machinerecord.Cleanup
	Forget, Prune bool
	// Facts changes spec, labels and annotations of the Server, with an optimistic lock.
	Facts func(*metalv1.Server)
	// Attempt is written to the boot configuration.
	Attempt *bootattempt.Attempt
	// Command goes to the BMC, and Defaults, if not empty, is the ID of the order to restore those of the BIOS.
	Command  *fleet.Command
	Defaults string
	// Settings go to the BMC too; each has an ID of its own and takes no power command's place.
	Settings []fleet.Command
	// Conditions go into status as they are.
	Conditions []metav1.Condition
	// Unsettled says that what is awaited usually comes within a moment. Status is not written for it: each
	// write costs every server of a fleet as much.
	Unsettled bool
	// Event, if it has a reason, is told to whoever watches the server.
	Event Event
	// After asks to be reconciled again when time alone has changed something.
	After time.Duration
}

// Event is a Kubernetes event about the server.
type Event struct{ Type, Reason, Message string }

func (p *Plan) condition(kind string, status metav1.ConditionStatus, reason, format string, args ...any) {
	p.Conditions = append(p.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...),
	})
}

// reports says whether status is to be written for a server of which status says that it is in state before.
// What the plan writes beside status wakes the server again at once: what there is to say is said then,
// unless by then the server is in another state and this one would never be seen.
func (p *Plan) reports(before, state metalv1.ServerState) bool {
	if p.Event.Reason != "" {
		return true // the condition that goes with it keeps it from being told again
	}
	return !p.Unsettled && p.Attempt == nil && (!p.Prepare || before != state)
}

// seenLately is how old an observation may be that tells that a machine is off which is about to be switched on.
const seenLately = 30 * time.Second

// How long status is not written for what is usually over by then.
const (
	// moment is what this process and its boot servers need.
	moment = 2 * time.Second
	// while is what a BMC or a registry needs, or a queue of a thousand other servers. Only a server of which nothing has
	// been said yet, or whose machine goes off to be Available, is silent for so long.
	while = 15 * time.Second
)

// firstWord is how long v may be silent of what is awaited.
func (v *View) firstWord() time.Duration {
	if v.Server.Status.State == "" && v.OverriddenBy == "" {
		return while
	}
	return moment
}

// brief is Unsettled for a time from since on.
func (p *Plan) brief(now, since time.Time, usual time.Duration) {
	if now.Before(since.Add(usual)) {
		p.Unsettled = true
		p.after(now, since.Add(usual))
	}
}

// after asks to be woken at t at the latest.
func (p *Plan) after(now, t time.Time) {
	d := max(t.Sub(now), time.Millisecond)
	if p.After == 0 || d < p.After {
		p.After = d
	}
}

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

// bootWay says how a machine is booted.
type bootWay struct {
	// cold: it has to be seen off first, by force if need be where force is set.
	cold, force bool
	// defaults: before it is switched on the BIOS gets its defaults back.
	defaults bool
	// again: when it is found off after it had started, it gets a new attempt; anew: it gets one now.
	again, anew bool
	// disk: a new attempt boots the disk; reinstall is what asked for the newest that does not.
	disk      bool
	reinstall string
}

// boot takes the boot attempt of v.Boot one step further. It returns whether the attempt has started.
func (v *View) boot(p *Plan, way bootWay) bool {
	a, ready := v.Attempt, v.bootReady(p)
	if !a.Begun() || way.anew || (way.again && a.Started != nil && v.off() && v.seenSince(a.Started)) {
		if (ready || way.disk) && v.System != nil {
			p.Attempt = v.nextAttempt(way)
		}
		return false
	}
	if a.Started != nil {
		return true
	}
	switch {
	case v.System == nil:
		return false // after a start nothing is known, and the unknown allows no action
	case way.cold && a.Off == nil && v.off() && v.seenSince(a.Ordered):
		p.Attempt = a.SeenOff(v.Now)
	case way.cold && a.Off == nil:
		v.powerOff(p, a.ID, way.force)
		if v.off() {
			p.brief(v.Now, *a.Ordered, moment)
		}
	case way.defaults && a.Defaults == nil:
		if v.restoreDefaults(p) {
			p.Attempt = a.SeenDefaults(v.Now)
		}
	case v.on() && v.seenSince(a.Ordered):
		p.Attempt = a.SeenOn(v.Now)
	case !a.Exits() && !v.Acknowledged && v.Now.Before(a.Ordered.Add(acknowledgeDelay)):
		p.after(v.Now, a.Ordered.Add(acknowledgeDelay))
		p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, "NotAcknowledged", "No boot server knows of this boot yet")
		p.brief(v.Now, *a.Ordered, moment)
	default:
		v.powerOn(p, "on")
	}
	return false
}

// offLately says that the machine was off a moment ago and that nothing has been ordered since: a boot from cold need not look
// again. Should somebody press its button this very moment, its boot comes to nothing and is made again.
func (v *View) offLately() bool {
	last := v.System.Command
	settled := last.ID == "" || last.State.Ended() && v.System.Seen.After(last.End)
	return v.off() && settled && v.Now.Before(v.System.Seen.Add(seenLately))
}

// nextAttempt is the attempt that follows v.Attempt.
func (v *View) nextAttempt(way bootWay) *bootattempt.Attempt {
	n := v.Attempt.Next(v.NewID(), v.Now)
	if way.cold && v.offLately() {
		n.Off = &v.Now // the order and what it begins with are one write
	}
	n.Disk, n.Cold, n.Reinstall = way.disk, way.anew, way.reinstall
	n.Generation, n.Ignition = v.Boot.Generation, bootconfig.Ignition(v.Boot)
	if way.disk && v.Attempt != nil {
		n.Generation, n.Ignition = v.Attempt.Generation, v.Attempt.Ignition
	}
	return n
}

// powerOn orders the boot of v.Boot in its present attempt.
func (v *View) powerOn(p *Plan, step string) {
	cmd := fleet.Command{Kind: fleet.PowerOn}
	if !v.Attempt.Exits() { // an override that is left is cleared
		cmd.Boot = v.bootOverride()
	}
	v.command(p, v.Attempt.ID, step, cmd)
	v.poweringOn(p)
}

// poweringOn says how far a boot is that was ordered.
func (v *View) poweringOn(p *Plan) {
	reason, now := "BootOrdered", ""
	err := v.trouble(fleet.PowerOn)
	switch {
	case err != nil:
		reason, now = reasonCommandFailed, ", and "+explain(err, "go on")
	case v.System.PowerState == bmc.PowerPoweringOn:
		reason, now = "SelfTest", "; the machine is in its power-on self test"
	}
	p.condition(metalv1.ConditionPoweringOn, metav1.ConditionTrue, reason, "Boot %d of %s/%s was ordered%s", v.Attempt.Number, v.Boot.Namespace, v.Boot.Name, now)
}

// stuck says that the last power command failed and that it is too early for the next.
func (v *View) stuck(p *Plan) bool {
	last := v.System.Command
	return p.Command == nil && last.State == fleet.Failed && last.Err != nil
}

// bootReady says in the BootReady condition whether the boot configuration can be booted.
func (v *View) bootReady(p *Plan) bool {
	switch {
	case v.Boot == nil:
		p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationMissing", "The boot configuration does not exist yet")
	case v.Boot.Status.State == metalv1.ServerBootConfigurationStateError:
		p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationError", "%s", bootProblem(v.Boot))
	case v.Boot.Status.State != metalv1.ServerBootConfigurationStateReady || !v.bootIsCurrent():
		p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationPending", "%s", bootProblem(v.Boot))
	default:
		if why, ok := v.bootsByBMC(); v.Policy.BMCIdentity && !ok {
			p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, "NotByBMC", "With --boot-identity=bmc the machine would get nothing: %s", why)
			return false
		}
		p.condition(metalv1.ConditionBootReady, metav1.ConditionTrue, "BootConfigurationReady", "Boot configuration %s/%s is ready", v.Boot.Namespace, v.Boot.Name)
		return true
	}
	return false
}

// bootIsCurrent says whether the boot configuration's status is about what it says now.
func (v *View) bootIsCurrent() bool {
	observed := v.Boot.Status.ObservedGeneration
	return observed == v.Boot.Generation || v.Policy.ForeignBoot && observed == 0
}

// bootProblem is what the boot configuration says of itself.
func bootProblem(config *metalv1.ServerBootConfiguration) string {
	return fmt.Sprintf("Boot configuration %s/%s: %s", config.Namespace, config.Name, bootconfig.Problem(config))
}

// bootOverride follows the image: UEFI HTTP for what holds a UKI where the BMC offers it, PXE otherwise.
func (v *View) bootOverride() bmc.BootOverride {
	if v.HTTPBoot != nil && v.HTTPBoot.Spec.UKIURL != "" && (!v.PXEBoot || v.System.Boot.Offers(bmc.BootUEFIHTTP)) {
		return bmc.BootOverride{Target: bmc.BootUEFIHTTP, URI: v.bootURI()}
	}
	return bmc.BootOverride{Target: bmc.BootPXE}
}
