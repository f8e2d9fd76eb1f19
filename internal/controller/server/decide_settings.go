package server

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/identity"
)

// Conditions about what spec asks of a BMC besides power. A server that is asked for neither has none.
const (
	conditionIndicator = "IndicatorApplied"
	conditionBootOrder = "BootOrderApplied"
)

// How long a setting that was sent and does not show is left alone. A BMC may take a boot order over with
// the next boot only, and some make a job of each change.
const (
	indicatorRepeat = 10 * time.Minute
	bootOrderRepeat = time.Hour
)

// settings adds to a plan what does not depend on the state of the server: its UUID and URI, and what the light and the boot order
// shall be, wherever the state is not one in which the machine is left alone.
func (v *View) settings(state metalv1.ServerState, p *Plan) {
	v.identify(p)
	v.place(p)
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

// indicator has the light show what the maintenance asks for, else what spec does, else what it
// showed before a maintenance changed it.
func (v *View) indicator(p *Plan) {
	spec := v.Server.Spec.IndicatorLED
	before, remembered := v.Server.Annotations[metalv1.AnnotationIndicatorBefore]
	wanted := spec
	switch {
	case v.Maintenance != nil && v.Maintenance.Spec.LocatorLED != "":
		wanted = v.Maintenance.Spec.LocatorLED
	case v.Server.Spec.ServerMaintenanceRef != nil:
		remembered = false // until that has let go of the server
	case spec == "":
		wanted = metalv1.IndicatorLED(before)
	}
	to := bmc.Indicator(wanted)
	shown := v.System.Shows(to)
	if remembered && v.Server.Spec.ServerMaintenanceRef == nil && (shown || spec != "") {
		p.alsoFacts(func(s *metalv1.Server) { delete(s.Annotations, metalv1.AnnotationIndicatorBefore) })
	}
	switch {
	case wanted == "":
		v.notAsked(p, conditionIndicator)
	case to != bmc.IndicatorLit && to != bmc.IndicatorBlinking && to != bmc.IndicatorOff:
		p.condition(conditionIndicator, metav1.ConditionFalse, "InvalidValue", "spec.indicatorLED: %.64q is none of Lit, Blinking, Off", wanted)
	case shown:
		p.condition(conditionIndicator, metav1.ConditionTrue, "Applied", "The light is %s", wanted)
	default:
		v.set(p, conditionIndicator, "led-"+string(to), indicatorRepeat, fleet.Command{Kind: fleet.SetIndicator, Indicator: to})
	}
}

// bootOrder has the persistent boot order begin with what spec lists, by priority, lower first. What spec
// does not list stays behind that in the order that it has.
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
			p.condition(conditionBootOrder, metav1.ConditionFalse, "UnknownDevice", "spec.bootOrder: entry %.64q: device %.64q is not among %s", e.Name, e.Device, strings.Join(now, ", "))
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

// set orders a setting. Its ID holds the period of time in which it is not sent again, so that ordering
// it with every reconcile does nothing.
func (v *View) set(p *Plan, condition, what string, repeat time.Duration, cmd fleet.Command) {
	period := v.Now.Truncate(repeat)
	base := string(v.Server.UID) + "/" + what + "/"
	cmd.ID, cmd.System = fmt.Sprintf("%s%d", base, period.Unix()), v.System.URI
	p.Settings = append(p.Settings, cmd)
	p.after(v.Now, period.Add(repeat))
	last := v.System.Setting
	tried := strings.HasPrefix(last.ID, base) && last.State == fleet.Running && last.Err != nil
	if told := last.Start.Add(while); tried && v.Now.Before(told) {
		p.after(v.Now, told) // it may be busy for a moment
		tried = false
	}
	switch {
	case tried:
		p.condition(condition, metav1.ConditionFalse, "CommandFailed", "The BMC does not carry it out, and is asked again: %v", last.Err)
	case strings.HasPrefix(last.ID, base) && last.State == fleet.Failed && last.Err != nil:
		p.condition(condition, metav1.ConditionFalse, "CommandFailed", "%v", last.Err)
	case strings.HasPrefix(last.ID, base) && last.State == fleet.Succeeded:
		p.condition(condition, metav1.ConditionFalse, "Sent", "The BMC took it and does not show it yet")
	default:
		p.condition(condition, metav1.ConditionFalse, "Ordered", "The BMC is being asked for it")
	}
}

// notAsked takes a condition back that an earlier spec has left.
func (v *View) notAsked(p *Plan, condition string) {
	if apimeta.FindStatusCondition(v.Server.Status.Conditions, condition) != nil {
		p.condition(condition, metav1.ConditionFalse, "NotAsked", "")
	}
}

// conditionIdentified is only on servers whose BMC reports no UUID that identifies a machine, and whose probe reported none either, or
// another server's.
const conditionIdentified = "Identified"

// takenRepeat is how often it is looked whether a UUID is still another server's.
const takenRepeat = 10 * time.Minute

// identify gives a server whose BMC tells no UUID the one that its probe told: the token of the report proves
// whose it is. A UUID is never changed, and never given twice: by it machines are booted.
func (v *View) identify(p *Plan) {
	c := apimeta.FindStatusCondition(v.Server.Status.Conditions, conditionIdentified)
	refused := c != nil && c.Status == metav1.ConditionFalse
	switch told := v.Told; {
	case identity.MachineUUID(v.Server.Spec.SystemUUID) != "":
		if refused {
			p.condition(conditionIdentified, metav1.ConditionTrue, "Identified", "The system UUID is %s", v.Server.Spec.SystemUUID)
		}
	case told == "" && v.Inspected == "":
	case told == "":
		p.condition(conditionIdentified, metav1.ConditionTrue, "NoSystemUUID", "The machine reports no system UUID of its own, or a placeholder: its MAC addresses and serial number identify it")
	case v.Namesake != "":
		const reason = "SystemUUIDTaken"
		message := fmt.Sprintf("The machine says that its system UUID is %s, which Server %q has already. Two machines with one UUID are taken for each other when they boot: give one another UUID in its board settings", told, v.Namesake)
		p.condition(conditionIdentified, metav1.ConditionFalse, reason, "%s", message)
		p.after(v.Now, v.Now.Add(takenRepeat))
		if !refused && p.Event.Reason == "" {
			p.Event = Event{corev1.EventTypeWarning, reason, message}
		}
	default:
		p.alsoFacts(func(s *metalv1.Server) { s.Spec.SystemUUID = told })
	}
}

// place writes down where the system of an inline BMC is: tools that speak Redfish themselves need its URI. Of a BMC object's systems its own
// controller does that.
func (v *View) place(p *Plan) {
	if v.Server.Spec.BMC == nil || v.System == nil || v.Server.Spec.SystemURI == v.System.URI {
		return
	}
	uri := v.System.URI
	p.alsoFacts(func(s *metalv1.Server) { s.Spec.SystemURI = uri })
}
