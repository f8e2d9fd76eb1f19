package server

import (
	"math"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/identity"
)

// decideInitial waits for the inventory that the BMC tells and then prepares
// the boot of the probe. A server without BMC stays here until it has one.
func decideInitial(v *View) Plan {
	var p Plan
	switch {
	case reason(v.Unreachable, "") == reasonNoBMC:
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, reasonNoBMC, "There is no BMC that could boot the probe")
	case v.System == nil || v.System.Inventory == nil:
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "InventoryPending", "The BMC has not told its inventory yet")
		if v.Unreachable == nil && !v.Missing {
			p.brief(v.Now, v.Server.CreationTimestamp.Time, v.firstWord())
		}
	case v.Twin != "":
		v.waitsForTwin(&p)
	case v.Policy.ProbeImage == "":
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "ProbeImageMissing", "No probe image is configured (--probe-os-image), so the server cannot be looked at from inside")
	case identity.MachineUUID(v.Server.Spec.SystemUUID) == "" && len(interfaces(v.System.Inventory.Interfaces)) == 0:
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, metalv1.ReasonUUIDMissing,
			"The BMC tells neither a UUID nor a MAC address of this system, so its boot would not be known as its own")
	case v.Now.Before(discoveryNotBefore(v.Server)) && !v.inFuture(discoveryNotBefore(v.Server).Add(-longestDelay)):
		p.after(v.Now, discoveryNotBefore(v.Server))
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "TimedOut", "No report of the probe came in time (%d of %d tries); the next try is at %s",
			discoveryFailures(v.Server), v.Policy.DiscoveryRetries+1, v.Server.Annotations[annotationDiscoveryNotBefore])
	default:
		p.Prepare, p.Unsettled = true, true // it is in Discovery at once
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "Preparing", "The boot of the probe is being prepared")
	}
	return p
}

// decideDiscovery boots the probe from cold and waits for its report. The report
// itself ends this state: once it is on record, derive says Available.
func decideDiscovery(v *View) Plan {
	var p Plan
	if v.Boot == nil {
		p.Prepare = true
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "Preparing", "The boot of the probe is being prepared")
		return p
	}
	if v.comesToNothing(&p, v.Policy.DiscoveryTimeout) {
		v.bootAgain(&p)
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "Booting", "%s", p.Event.Message)
		return p
	}
	if !v.boot(&p, bootWay{cold: true, force: true}) {
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "Booting", "The probe is being booted")
		if !v.Attempt.Begun() && p.Attempt == nil && v.Boot.Status.State != metalv1.ServerBootConfigurationStateError {
			p.brief(v.Now, v.Boot.CreationTimestamp.Time, v.firstWord())
		}
		return p
	}
	deadline := v.Attempt.Since().Add(v.Policy.DiscoveryTimeout)
	if v.Now.Before(deadline) {
		p.after(v.Now, deadline)
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "WaitingForReport", "The probe was booted and has not reported yet")
		return p
	}
	failures := discoveryFailures(v.Server) + 1
	p.Remove = true
	p.Facts = func(s *metalv1.Server) {
		s.Spec.BootConfigurationRef = nil
		annotate(s, annotationDiscoveryFailures, strconv.Itoa(failures))
		annotate(s, annotationDiscoveryNotBefore, v.Now.Add(discoveryDelay(failures)).UTC().Format(time.RFC3339))
	}
	p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "TimedOut", "No report came within %s (%d of %d tries)", v.Policy.DiscoveryTimeout, failures, v.Policy.DiscoveryRetries+1)
	p.Event = Event{corev1.EventTypeWarning, "DiscoveryTimedOut", "No report of the probe came in time"}
	return p
}

// discoveryDelay doubles with each discovery that times out.
func discoveryDelay(failures int) time.Duration {
	const first, longest = time.Minute, time.Hour
	return min(first<<min(failures-1, 10), longest)
}

// longestDelay is the longest that discoveryDelay gives.
var longestDelay = discoveryDelay(math.MaxInt)

// reasonTwin is a reason of the condition Discovered: another Server stands for the same machine.
const reasonTwin = "SystemTaken"

// waitsForTwin says so, and looks again now and then.
func (v *View) waitsForTwin(p *Plan) {
	p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, reasonTwin,
		"Server %q stands for the same machine; this one is not looked at, which would switch the machine off. Delete one of the two", v.Twin)
	p.after(v.Now, v.Now.Add(takenRepeat))
}
