package server

import (
	"math"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/identity"
)

// decideInitial waits for the BMC's inventory and then prepares the boot of the probe. A server without BMC stays here until it has
// one.
func decideInitial(v *View) Plan {
	var p Plan
	switch {
	case reason(v.Unreachable, "") == reasonNoBMC:
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, reasonNoBMC, "Waiting for a BMC: the Server names none, and only a BMC can boot the probe")
	case v.System == nil || v.System.Inventory == nil:
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "InventoryPending", "Waiting for the BMC's inventory")
		if v.Unreachable == nil && !v.Missing {
			p.awaits(AwaitsInventory, v.Server.CreationTimestamp.Time)
		}
	case v.DuplicateOf != "":
		v.waitForDuplicate(&p)
	case v.Policy.ProbeImage == "":
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "ProbeImageMissing", "In-band inspection needs a probe image: set --probe-os-image")
	case identity.MachineUUID(v.Server.Spec.SystemUUID) == "" && len(interfaces(v.System.Inventory.Interfaces)) == 0:
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, metalv1.ReasonUUIDMissing,
			"The BMC reports neither a UUID nor a MAC address of this system, so the boot server could not identify it")
	case v.Now.Before(discoveryNotBefore(v.Server)) && !v.inFuture(discoveryNotBefore(v.Server).Add(-longestDelay)):
		p.after(v.Now, discoveryNotBefore(v.Server))
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "TimedOut", "The probe did not report in time (try %d of %d); the next try is at %s",
			discoveryFailures(v.Server), v.Policy.DiscoveryRetries+1, v.Server.Annotations[annotationDiscoveryNotBefore])
	default:
		v.prepare(&p)
		p.awaits(AwaitsPreparation, v.Now)
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "Preparing", "Preparing the boot of the probe")
	}
	return p
}

// decideDiscovery boots the probe from power off and waits for its report. The report itself ends this state: once it is on record, derive
// says Available.
func decideDiscovery(v *View) Plan {
	var p Plan
	if v.Boot == nil {
		v.prepare(&p)
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "Preparing", "Preparing the boot of the probe")
		return p
	}
	if v.bootFailed(&p, v.Policy.DiscoveryTimeout) {
		v.bootAgain(&p)
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "Booting", "%s", p.Events[0].Message)
		return p
	}
	if !v.boot(&p, bootOptions{cold: true, force: true}) {
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "Booting", "Booting the probe")
		if !v.Attempt.Begun() && p.Attempt == nil && v.Boot.Status.State != metalv1.ServerBootConfigurationStateError {
			p.awaits(AwaitsBootConfiguration, v.Boot.CreationTimestamp.Time)
		}
		return p
	}
	deadline := v.Attempt.Since().Add(v.Policy.DiscoveryTimeout)
	if v.Now.Before(deadline) {
		p.after(v.Now, deadline)
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "WaitingForReport", "Waiting for the report of the probe")
		return p
	}
	failures := discoveryFailures(v.Server) + 1
	p.Remove = true
	p.edit(
		removeBoot(),
		setAnnotation{annotationDiscoveryFailures, strconv.Itoa(failures)},
		setAnnotation{annotationDiscoveryNotBefore, v.Now.Add(discoveryDelay(failures)).UTC().Format(time.RFC3339)},
	)
	p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "TimedOut", "The probe did not report within %s (try %d of %d)", v.Policy.DiscoveryTimeout, failures, v.Policy.DiscoveryRetries+1)
	p.warning("DiscoveryTimedOut", "The probe did not report within %s", v.Policy.DiscoveryTimeout)
	return p
}

// discoveryDelay doubles with each discovery that times out.
func discoveryDelay(failures int) time.Duration {
	const first, longest = time.Minute, time.Hour
	return min(first<<min(failures-1, 10), longest)
}

// longestDelay is the maximum of discoveryDelay.
var longestDelay = discoveryDelay(math.MaxInt)

// duplicateRepeat is how often a server checks whether another one still has its machine or its UUID.
const duplicateRepeat = 10 * time.Minute

// waitForDuplicate waits until a person has deleted one of two Servers of the same machine.
func (v *View) waitForDuplicate(p *Plan) {
	p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, reasonDuplicate,
		"Server %q is the same machine. Discovery would switch it off, so it waits: delete one of the two Servers", v.DuplicateOf)
	p.after(v.Now, v.Now.Add(duplicateRepeat))
}
