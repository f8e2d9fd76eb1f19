package server

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/turn"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// decideMaintenance keeps power and boot of a machine as its maintenance asks, and changes nothing else. When that ends the next one
// has the server, or the server goes back to where it was.
func decideMaintenance(v *View) Plan {
	var p Plan
	if v.mark(&p) {
		return p
	}
	m := v.Maintenance
	switch {
	case v.Foreign.has():
		p.after(v.Now, v.Foreign.looked.Add(foreignRepeat)) // the machine is left alone
		return p
	case m == nil:
		return v.endMaintenance()
	}
	purpose := "maintenance-" + string(m.UID)
	switch wantedPower(m) {
	case metalv1.PowerOff:
		if v.Boot != nil {
			v.bootReady(&p)
		}
		if v.running() {
			v.powerOff(&p, purpose, v.Policy.EnforcePowerOff)
		}
	case metalv1.PowerOn:
		switch {
		case v.Server.Spec.MaintenanceBootConfigurationRef != nil:
			// A machine that is on boots nothing, so what runs has to end.
			if v.boot(&p, bootOptions{cold: true, force: true, again: true}) {
				p.condition(metalv1.ConditionPoweringOn, metav1.ConditionFalse, "Started", "The machine started at %s", v.Attempt.Started.UTC().Format("15:04:05"))
			}
			if p.Attempt != nil && v.Server.Annotations[annotationMaintenanceBoots] == "" {
				p.edit(setAnnotation{annotationMaintenanceBoots, v.Boot.Namespace + "/" + v.Boot.Name})
			}
		case m.Spec.ServerBootConfigurationTemplate != nil:
			// Its controller is about to create the boot configuration.
		case v.off():
			v.command(&p, purpose, "on", fleet.Command{Kind: fleet.PowerOn})
			if err := v.trouble(fleet.PowerOn); err != nil {
				p.condition(metalv1.ConditionPoweringOn, metav1.ConditionTrue, reasonCommandFailed, "The maintenance asks for the machine to be on: %s", explain(err, "go on"))
				break
			}
			p.condition(metalv1.ConditionPoweringOn, metav1.ConditionTrue, "MaintenanceOrdered", "The maintenance asks for the machine to be on")
		}
	}
	return p
}

// wantedPower is the power that a maintenance asks for. One with a boot configuration wants it booted unless it says otherwise. One
// that asks for nothing leaves the power to whoever works on the machine.
func wantedPower(m *metalv1.ServerMaintenance) metalv1.Power {
	if m.Spec.ServerPower == "" && m.Spec.ServerBootConfigurationTemplate != nil {
		return metalv1.PowerOn
	}
	return m.Spec.ServerPower
}

// endMaintenance gives the server back. A machine that the maintenance booted, or switched on for itself, is switched off first: a claim
// boots it again as its policy says, and in all other states it is off. A machine that the maintenance left alone is left alone here
// too.
func (v *View) endMaintenance() Plan {
	var p Plan
	if v.System != nil && !v.settledOff() && v.disturbed() {
		ref := v.Server.Spec.ServerMaintenanceRef
		v.powerOff(&p, "maintenance-end-"+ref.Namespace+"-"+ref.Name+"-"+v.attemptID(), v.Policy.EnforcePowerOff)
		return p
	}
	if v.System == nil && v.disturbed() {
		return p // it is unknown what runs, and the claim must not get that
	}
	if v.Next != nil && !accepted(v.Next) {
		p.after(v.Now, v.Next.CreationTimestamp.Add(acceptDelay)) // its status triggers a reconcile before
		return p
	}
	ref := v.Server.Spec.ServerMaintenanceRef
	p.edit(removeAnnotation(annotationMaintenanceBoots))
	if next := v.Next; next != nil { // in the same write, so that nobody takes the server in between
		p.edit(setMaintenance{next.Namespace, next.Name}, setAnnotation{metalv1.AnnotationMaintainedBy, turn.Mark(next)})
		p.event("MaintenanceEnded", "ServerMaintenance %s/%s has ended, and %s/%s has the server now", ref.Namespace, ref.Name, next.Namespace, next.Name)
		return p
	}
	p.edit(setMaintenance{}, removeAnnotation(metalv1.AnnotationMaintainedBy))
	p.event("MaintenanceEnded", "ServerMaintenance %s/%s has ended", ref.Namespace, ref.Name)
	return p
}

// disturbed reports whether something of the maintenance runs on the machine, or may.
func (v *View) disturbed() bool {
	if v.Server.Spec.MaintenanceBootConfigurationRef != nil {
		return v.Attempt.Begun() || v.Boot == nil && v.Server.Annotations[annotationMaintenanceBoots] != ""
	}
	return v.Claim == nil && v.EndingMaintenance != nil && v.EndingMaintenance.Spec.ServerPower == metalv1.PowerOn
}

// acceptDelay is how long a server waits for the controller of maintenances to accept a new one.
const acceptDelay = 30 * time.Second

// accepted reports whether the controller of maintenances has found that this one is possible. It waits for the server.
func accepted(m *metalv1.ServerMaintenance) bool {
	return m.Status.State == metalv1.ServerMaintenanceStatePending
}
