package server

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// decideMaintenance keeps power and boot of a machine as the maintenance asks that has it, and
// nothing that it does not ask for. When that has ended the server goes back to where it was.
func decideMaintenance(v *View) Plan {
	var p Plan
	if v.mark(&p) {
		return p
	}
	m := v.Maintenance
	if m == nil {
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
		case v.off():
			v.command(&p, serves, "on", fleet.Command{Kind: fleet.PowerOn})
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
	ref := *v.Server.Spec.ServerMaintenanceRef
	p.Facts = func(s *metalv1.Server) {
		s.Spec.ServerMaintenanceRef = nil
		s.Spec.MaintenanceBootConfigurationRef = nil
		delete(s.Annotations, annotationMaintenanceBoots)
	}
	p.Event = Event{corev1.EventTypeNormal, "MaintenanceEnded", "ServerMaintenance " + ref.Namespace + "/" + ref.Name + " has ended"}
	return p
}

// disturbed says whether something runs on the machine, or may, that is the maintenance's own.
func (v *View) disturbed() bool {
	if v.Server.Spec.MaintenanceBootConfigurationRef != nil {
		return v.Attempt.Begun() || v.Boot == nil && v.Server.Annotations[annotationMaintenanceBoots] != ""
	}
	return v.Claim == nil && v.EndingMaintenance != nil && v.EndingMaintenance.Spec.ServerPower == metalv1.PowerOn
}

// bootRef is what the server boots now: in maintenance what that brings, or nothing.
func bootRef(server *metalv1.Server) *metalv1.ObjectReference {
	if server.Spec.ServerMaintenanceRef != nil {
		return server.Spec.MaintenanceBootConfigurationRef
	}
	return server.Spec.BootConfigurationRef
}

// gatherMaintenance reads the maintenance that has the server. That it is gone may switch a machine off, so
// that is not believed of a cache that may lag.
func (r *Reconciler) gatherMaintenance(ctx context.Context, v *View) error {
	ref := v.Server.Spec.ServerMaintenanceRef
	if ref == nil {
		return nil
	}
	for _, reader := range []client.Reader{r, r.APIReader} {
		var m metalv1.ServerMaintenance
		err := reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &m)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("ServerMaintenance %s/%s: %w", ref.Namespace, ref.Name, err)
		case err != nil:
			continue
		case !m.DeletionTimestamp.IsZero() || m.Spec.ServerRef.Name != v.Server.Name:
			v.EndingMaintenance = &m
			return nil
		}
		v.Maintenance = &m
		return nil
	}
	return nil
}

// ofMaintenance is the server that a maintenance is about.
func ofMaintenance(_ context.Context, obj client.Object) []reconcile.Request {
	m, ok := obj.(*metalv1.ServerMaintenance)
	if !ok {
		return nil
	}
	return named(m.Spec.ServerRef.Name)
}
