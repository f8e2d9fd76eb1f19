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
	"github.com/farrier-dev/farrier/internal/fleet"
)

// acknowledgeDelay is how long a boot waits for a boot server to know of it.
const acknowledgeDelay = 10 * time.Second

// seenLately is how old an observation may be that tells that a machine is off which is about to be switched on.
const seenLately = 30 * time.Second

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

// bootsByBMC reports whether what is to be booted has a URL of ours that the BMC can be given, and says otherwise why not.
func (v *View) bootsByBMC() (why string, ok bool) {
	switch {
	case v.HTTPBoot == nil || !strings.Contains(v.HTTPBoot.Spec.UKIURL, ukiPath):
		return "its image holds no unified kernel image", false
	case v.System != nil && !v.System.Boot.Offers(bmc.BootUEFIHTTP):
		return "its BMC offers no UEFI HTTP boot", false
	}
	return "", true
}

// ukiPath is in every URL of a UKI at the boot server.
const ukiPath = "/httpboot/"

// bootURI is the URL of the UKI. Where machines are told apart by what their BMC was given, a token is in it that nobody else has seen.
func (v *View) bootURI() string {
	url := v.HTTPBoot.Spec.UKIURL
	if before, after, ours := strings.Cut(url, ukiPath); v.BMCToken != "" && ours {
		return before + ukiPath + "~" + v.BMCToken + "/" + after
	}
	return url
}
