package server

import (
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
