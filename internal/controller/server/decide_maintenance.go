package server

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/turn"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// decideMaintenance keeps power and boot of a machine as the maintenance asks that has it, and
// nothing that it does not ask for. When that has ended the next has the server, or it goes back to where it was.
func decideMaintenance(v *View) Plan {
	var p Plan
	if v.mark(&p) {
		return p
	}
	m := v.Maintenance
	switch {
	case v.Foreign.has():
		v.handsOff(&p)
		return p
	case m == nil:
		return v.endMaintenance()
	}
	serves := "maintenance-" + string(m.UID)
	switch wantedPower(m) {
	case metalv1.PowerOff:
		if v.Boot != nil {
			v.bootReady(&p)
		}
		if v.running() {
			v.powerOff(&p, serves, v.Policy.EnforcePowerOff)
		}
	case metalv1.PowerOn:
		switch {
		case v.Server.Spec.MaintenanceBootConfigurationRef != nil:
			// What ran before has to end: a machine that is on boots nothing.
			if v.boot(&p, bootWay{cold: true, force: true, again: true}) {
				p.condition(metalv1.ConditionPoweringOn, metav1.ConditionFalse, "Started", "The machine was started at %s", v.Attempt.Started.UTC().Format("15:04:05"))
			}
			if config := v.Boot; p.Attempt != nil && v.Server.Annotations[annotationMaintenanceBoots] == "" {
				p.alsoFacts(func(s *metalv1.Server) { annotate(s, annotationMaintenanceBoots, config.Namespace+"/"+config.Name) })
			}
		case m.Spec.ServerBootConfigurationTemplate != nil:
			// The controller of maintenances is about to make what it boots.
		case v.off():
			v.command(&p, serves, "on", fleet.Command{Kind: fleet.PowerOn})
			if err := v.trouble(fleet.PowerOn); err != nil {
				p.condition(metalv1.ConditionPoweringOn, metav1.ConditionTrue, reasonCommandFailed, "The maintenance asks for the machine to be on, and %s", explain(err, "go on"))
				break
			}
			p.condition(metalv1.ConditionPoweringOn, metav1.ConditionTrue, "MaintenanceOrdered", "The maintenance asks for the machine to be on")
		}
	}
	return p
}

// wantedPower is the power that a maintenance asks for. One that brings something to boot wants it booted
// unless it says otherwise; one that asks for nothing leaves the power to whoever works on the machine.
func wantedPower(m *metalv1.ServerMaintenance) metalv1.Power {
	if m.Spec.ServerPower == "" && m.Spec.ServerBootConfigurationTemplate != nil {
		return metalv1.PowerOn
	}
	return m.Spec.ServerPower
}

// endMaintenance gives the server back. What the maintenance booted, or switched on for itself, is
// switched off first: a claim finds its machine off and boots it as its policy says, and
// all other states have theirs off. A machine that the maintenance left alone is left alone here too.
func (v *View) endMaintenance() Plan {
	var p Plan
	if v.System != nil && !v.released() && v.disturbed() {
		ref := v.Server.Spec.ServerMaintenanceRef
		v.powerOff(&p, "maintenance-end-"+ref.Namespace+"-"+ref.Name+"-"+v.attemptID(), v.Policy.EnforcePowerOff)
		return p
	}
	if v.System == nil && v.disturbed() {
		return p // what runs there is not known, and must not become the claim's
	}
	if v.Next != nil && !lookedAt(v.Next) {
		p.after(v.Now, v.Next.CreationTimestamp.Add(lookingDelay)) // its status wakes the server before
		return p
	}
	ref := *v.Server.Spec.ServerMaintenanceRef
	p.Facts = func(s *metalv1.Server) {
		s.Spec.ServerMaintenanceRef = nil
		s.Spec.MaintenanceBootConfigurationRef = nil
		delete(s.Annotations, annotationMaintenanceBoots)
		delete(s.Annotations, metalv1.AnnotationMaintainedBy)
		if v.Next != nil { // in the same write, so that nobody takes it in between
			s.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: v.Next.Namespace, Name: v.Next.Name}
			annotate(s, metalv1.AnnotationMaintainedBy, turn.Mark(v.Next))
		}
	}
	p.Event = Event{corev1.EventTypeNormal, "MaintenanceEnded", "ServerMaintenance " + ref.Namespace + "/" + ref.Name + " has ended"}
	if v.Next != nil {
		p.Event.Message += ", and " + v.Next.Namespace + "/" + v.Next.Name + " has the server now"
	}
	return p
}

// disturbed says whether something runs on the machine, or may, that is the maintenance's own.
func (v *View) disturbed() bool {
	if v.Server.Spec.MaintenanceBootConfigurationRef != nil {
		return v.Attempt.Begun() || v.Boot == nil && v.Server.Annotations[annotationMaintenanceBoots] != ""
	}
	return v.Claim == nil && v.EndingMaintenance != nil && v.EndingMaintenance.Spec.ServerPower == metalv1.PowerOn
}

// handsOff leaves a machine to whoever works on it, and looks now and then whether that is over.
func (v *View) handsOff(p *Plan) {
	p.after(v.Now, v.Foreign.looked.Add(foreignRepeat))
}

// lookingDelay is how long a server waits for the controller of maintenances to look at one that is new.
const lookingDelay = 30 * time.Second

// lookedAt reports whether the controller of maintenances has found that this one can be done, and waits.
func lookedAt(m *metalv1.ServerMaintenance) bool {
	return m.Status.State == metalv1.ServerMaintenanceStatePending
}
