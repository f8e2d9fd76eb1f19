package server

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/identity"
)

// How long a setting that was sent and does not show is not repeated. A BMC may apply a boot order with the next boot only, and some
// make a job of each change.
const (
	indicatorRepeat = 10 * time.Minute
	bootOrderRepeat = time.Hour
)

// settings adds to a plan what does not depend on the state: the server's UUID and URI and, unless its machine is left alone, the
// indicator light and the boot order.
func (v *View) settings(state metalv1.ServerState, p *Plan) {
	v.identify(p)
	v.locate(p)
	if v.System == nil || state == metalv1.ServerStateParked || v.Foreign.has() {
		return
	}
	v.indicator(p)
	switch state {
	case metalv1.ServerStateError, metalv1.ServerStateReleased, metalv1.ServerStateCleanup:
	default:
		v.bootOrder(p)
	}
}

// indicator makes the light show what the maintenance asks for, else what spec does, else what it showed before a maintenance changed
// it.
func (v *View) indicator(p *Plan) {
	spec := v.Server.Spec.IndicatorLED
	before, remembered := v.Server.Annotations[metalv1.AnnotationIndicatorBefore]
	wanted := spec
	switch {
	case v.Maintenance != nil && v.Maintenance.Spec.LocatorLED != "":
		wanted = v.Maintenance.Spec.LocatorLED
	case v.Server.Spec.ServerMaintenanceRef != nil:
		remembered = false // until the maintenance ends
	case spec == "":
		wanted = metalv1.IndicatorLED(before)
	}
	to := bmc.Indicator(wanted)
	shown := v.System.Shows(to)
	if remembered && v.Server.Spec.ServerMaintenanceRef == nil && (shown || spec != "") {
		p.edit(removeAnnotation(metalv1.AnnotationIndicatorBefore))
	}
	switch {
	case wanted == "":
		v.notAsked(p, conditionIndicator)
	case to != bmc.IndicatorLit && to != bmc.IndicatorBlinking && to != bmc.IndicatorOff:
		p.condition(conditionIndicator, metav1.ConditionFalse, "InvalidValue", "spec.indicatorLED: %.64q must be Lit, Blinking or Off", wanted)
	case shown:
		p.condition(conditionIndicator, metav1.ConditionTrue, "Applied", "The light is %s", wanted)
	default:
		v.set(p, conditionIndicator, "led-"+string(to), indicatorRepeat, fleet.Command{Kind: fleet.SetIndicator, Indicator: to})
	}
}

// bootOrder makes the persistent boot order begin with what spec lists, by priority, lower first. The rest follows in its current
// order.
func (v *View) bootOrder(p *Plan) {
	if len(v.Server.Spec.BootOrder) == 0 {
		v.notAsked(p, conditionBootOrder)
		return
	}
	entries := slices.Clone(v.Server.Spec.BootOrder)
	slices.SortStableFunc(entries, func(a, b metalv1.BootOrder) int { return a.Priority - b.Priority })
	now := v.System.Boot.Order
	var wanted []string
	for _, e := range entries {
		if !slices.Contains(now, e.Device) {
			p.condition(conditionBootOrder, metav1.ConditionFalse, "UnknownDevice", "spec.bootOrder: entry %.64q: device %.64q is not one of %s", e.Name, e.Device, strings.Join(now, ", "))
			return
		}
		if !slices.Contains(wanted, e.Device) {
			wanted = append(wanted, e.Device)
		}
	}
	for _, device := range now {
		if !slices.Contains(wanted, device) {
			wanted = append(wanted, device)
		}
	}
	if slices.Equal(now, wanted) {
		p.condition(conditionBootOrder, metav1.ConditionTrue, "Applied", "The boot order is %s", strings.Join(wanted, ", "))
		return
	}
	h := fnv.New64a()
	h.Write([]byte(strings.Join(wanted, "\x00")))
	v.set(p, conditionBootOrder, fmt.Sprintf("order-%x", h.Sum64()), bootOrderRepeat, fleet.Command{Kind: fleet.SetBootOrder, BootOrder: wanted})
}

// set orders a setting. Its ID holds the period in which it is not repeated, so that ordering it with every reconcile does nothing.
func (v *View) set(p *Plan, condition, what string, repeat time.Duration, cmd fleet.Command) {
	period := v.Now.Truncate(repeat)
	base := string(v.Server.UID) + "/" + what + "/"
	cmd.ID, cmd.System = fmt.Sprintf("%s%d", base, period.Unix()), v.System.URI
	p.Settings = append(p.Settings, cmd)
	p.after(v.Now, period.Add(repeat))
	last := v.System.Setting
	tried := strings.HasPrefix(last.ID, base) && last.State == fleet.Running && last.Err != nil
	if told := last.Start.Add(troubleDelay); tried && v.Now.Before(told) {
		p.after(v.Now, told) // it may be busy
		tried = false
	}
	switch {
	case tried:
		p.condition(condition, metav1.ConditionFalse, "CommandFailed", "The BMC does not apply the setting; trying again: %v", last.Err)
	case strings.HasPrefix(last.ID, base) && last.State == fleet.Failed && last.Err != nil:
		p.condition(condition, metav1.ConditionFalse, "CommandFailed", "%v", last.Err)
	case strings.HasPrefix(last.ID, base) && last.State == fleet.Succeeded:
		p.condition(condition, metav1.ConditionFalse, "Sent", "The BMC accepted the setting and does not show it yet")
	default:
		p.condition(condition, metav1.ConditionFalse, "Ordered", "Sending the setting to the BMC")
	}
}

// notAsked clears a condition of an earlier spec.
func (v *View) notAsked(p *Plan, condition string) {
	if apimeta.FindStatusCondition(v.Server.Status.Conditions, condition) != nil {
		p.condition(condition, metav1.ConditionFalse, "NotAsked", "")
	}
}

// identify gives a server whose BMC reports no UUID the one that its probe reported: the token of the report proves whose it is. A
// UUID is never changed, and never given twice: machines are booted by it.
func (v *View) identify(p *Plan) {
	c := apimeta.FindStatusCondition(v.Server.Status.Conditions, conditionIdentified)
	refused := c != nil && c.Status == metav1.ConditionFalse
	switch reported := v.ReportedUUID; {
	case identity.MachineUUID(v.Server.Spec.SystemUUID) != "":
		if refused {
			p.condition(conditionIdentified, metav1.ConditionTrue, "Identified", "The system UUID is %s", v.Server.Spec.SystemUUID)
		}
	case reported == "" && v.Inspected == "":
	case reported == "":
		p.condition(conditionIdentified, metav1.ConditionTrue, "NoSystemUUID", "The machine reports no system UUID of its own, or a placeholder: its MAC addresses and serial number identify it")
	case v.UUIDTakenBy != "":
		const reason = "SystemUUIDTaken"
		message := fmt.Sprintf("The machine reports system UUID %s, which Server %q has already. A machine can boot what belongs to another with its UUID: change the UUID of one in its board settings", reported, v.UUIDTakenBy)
		p.condition(conditionIdentified, metav1.ConditionFalse, reason, "%s", message)
		p.after(v.Now, v.Now.Add(duplicateRepeat))
		if !refused {
			p.warning(reason, "%s", message)
		}
	default:
		p.edit(setSystemUUID{reported})
	}
}

// locate remembers the URI of the system of an inline BMC, which tools that speak Redfish themselves need. For the systems of BMC
// objects the controller of BMCs does that.
func (v *View) locate(p *Plan) {
	if v.Server.Spec.BMC == nil || v.System == nil || v.Server.Spec.SystemURI == v.System.URI {
		return
	}
	p.edit(setSystemURI{v.System.URI})
}
