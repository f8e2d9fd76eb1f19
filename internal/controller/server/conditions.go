package server

import (
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/probeboot"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// setConditions sets every condition of the server from the view and the plan. Of two of one type the later counts. A condition that no
// longer holds becomes False.
func setConditions(v *View, ph phase, p *Plan) {
	set := []metav1.Condition{reachable(v, p), lateness(v, ph), claimable(v, ph)}
	if v.System != nil {
		set = append(set, uefiHTTPBootCondition(v))
		set = append(set, powerConditions(v)...)
		set = append(set, health(v)...)
	}
	if v.Inspected != "" {
		set = append(set, metav1.Condition{
			Type: metalv1.ConditionDiscovered, Status: metav1.ConditionTrue, Reason: "ReportStored",
			Message: "The probe reported in boot attempt " + v.Inspected,
		})
	}
	if ph.state == metalv1.ServerStateParked && bootRef(v.Server) != nil && v.Boot == nil {
		set = append(set, metav1.Condition{Type: metalv1.ConditionBootReady, Status: metav1.ConditionFalse, Reason: "BootConfigurationMissing", Message: "The boot configuration no longer exists"})
	}
	if bootRef(v.Server) == nil {
		set = append(set, metav1.Condition{Type: metalv1.ConditionBootReady, Status: metav1.ConditionFalse, Reason: "NothingToBoot"})
	}
	if ph.state == metalv1.ServerStateReserved {
		set = append(set, metav1.Condition{Type: metalv1.ConditionCleaned, Status: metav1.ConditionFalse, Reason: "InUse", Message: "The server belongs to a claim"})
	}
	if v.Server.Spec.BMC != nil {
		set = append(set, credentialsCondition(v))
	}
	if waits := deletionWaits(v.Server); waits.Type != "" {
		set = append(set, waits)
	}
	if v.Foreign.has() || apimeta.FindStatusCondition(v.Server.Status.Conditions, conditionForeignMaintenance) != nil {
		set = append(set, foreignCondition(v))
	}
	set = append(set, p.Conditions...)
	for i, c := range set {
		if slices.ContainsFunc(set[i+1:], func(later metav1.Condition) bool { return later.Type == c.Type }) {
			continue // setting both would be a transition, and a write, each time
		}
		c.ObservedGeneration = v.Server.Generation
		c.LastTransitionTime = metav1.NewTime(v.Now)
		apimeta.SetStatusCondition(&v.Server.Status.Conditions, c)
	}
}

// reachable is condition Ready: whether the BMC answers, for this server. After a start it stays what it was until the BMC is met.
func reachable(v *View, p *Plan) metav1.Condition {
	ready := metav1.Condition{Type: metalv1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Reachable", Message: "The BMC answers"}
	switch {
	case v.Unreachable != nil:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reason(v.Unreachable, "BMCUnreachable"), v.Unreachable.Error()
		switch bmc.KindOf(v.Unreachable) {
		case bmc.KindUntrusted:
			ready.Reason = metalv1.ReasonUntrusted
		case bmc.KindAuthentication:
			ready.Reason = metalv1.ReasonAuthenticationFailed
		}
		if accept := connection.HowToAccept(v.Unreachable, v.Counts); accept != "" && v.Server.Spec.BMC != nil { // a BMC object says it itself
			ready.Message += ". " + accept
		}
	case v.Missing:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "SystemNotFound", "The BMC has no such system"
	case v.System == nil:
		was := apimeta.FindStatusCondition(v.Server.Status.Conditions, ready.Type)
		if was != nil && v.Now.Before(v.MetBy) {
			p.after(v.Now, v.MetBy)
			return *was
		}
		ready.Status, ready.Reason, ready.Message = metav1.ConditionUnknown, "NotObserved", "Waiting for the BMC to answer"
	}
	return ready
}

// claimable is condition Claimable. While nothing was observed, as after a start, a server that was claimable stays so.
func claimable(v *View, ph phase) metav1.Condition {
	c := metav1.Condition{Type: metalv1.ConditionClaimable, Status: metav1.ConditionFalse}
	was := apimeta.IsStatusConditionTrue(v.Server.Status.Conditions, c.Type)
	switch {
	case ph.state != metalv1.ServerStateAvailable:
		c.Reason, c.Message = metalv1.ReasonNotAvailable, "The server is not Available"
	case v.System == nil && was, v.off() && !v.unsettled():
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, metalv1.ReasonClaimable, "A claim may take the server"
	default:
		c.Reason, c.Message = metalv1.ReasonNotOff, "Waiting for the machine to be off"
	}
	return c
}

// powerConditions are both conditions about power, in both directions.
func powerConditions(v *View) []metav1.Condition {
	poweringOn := metav1.Condition{Type: metalv1.ConditionPoweringOn, Status: metav1.ConditionFalse, Reason: "Idle"}
	waiting := metav1.Condition{Type: metalv1.ConditionWaitingForPowerOff, Status: metav1.ConditionFalse, Reason: "Idle"}
	c := v.System.Command
	on, off := v.trouble(fleet.PowerOn), v.trouble(fleet.PowerOff)
	switch {
	case !c.State.Ended() && on != nil:
		poweringOn.Status, poweringOn.Reason, poweringOn.Message = metav1.ConditionTrue, reasonCommandFailed, on.Error()
	case !c.State.Ended() && off != nil:
		waiting.Status, waiting.Reason, waiting.Message = metav1.ConditionTrue, reasonCommandFailed, off.Error()
	case c.State == fleet.Failed && c.Err != nil && c.Kind == fleet.PowerOn:
		poweringOn.Reason, poweringOn.Message = reasonCommandFailed, c.Err.Error()
	case c.State == fleet.Failed && c.Err != nil && c.Kind == fleet.PowerOff:
		waiting.Reason, waiting.Message = reasonCommandFailed, c.Err.Error()
	case c.State == fleet.Succeeded && c.Kind == fleet.PowerOff && c.Forced:
		waiting.Reason, waiting.Message = "ForcedOff", "The machine did not shut down in time and was forced off"
	}
	return []metav1.Condition{poweringOn, waiting}
}

// lateness is condition Late: the server stays longer in its state than usual.
func lateness(v *View, ph phase) metav1.Condition {
	late := metav1.Condition{Type: conditionLate, Status: metav1.ConditionTrue, Reason: "LateIn" + string(ph.state)}
	passed := func(at time.Time) bool { return !at.IsZero() && !v.Now.Before(at) }
	switch expected, _ := usual(ph.state); {
	case passed(v.powerDue(ph)):
		late.Message = fmt.Sprintf("A power command has no effect for longer than the usual %s; the conditions %s and %s say why",
			usualPower.Round(time.Minute), metalv1.ConditionPoweringOn, metalv1.ConditionWaitingForPowerOff)
	case passed(v.stateDue(ph)):
		late.Message = fmt.Sprintf("Longer than the usual %s in state %s", expected.Round(time.Minute), ph.state)
	default:
		return metav1.Condition{Type: conditionLate, Status: metav1.ConditionFalse, Reason: "OnTime"}
	}
	return late
}

// lateAt is when the server will be late; zero: never.
func (v *View) lateAt(ph phase) time.Time {
	power, state := v.powerDue(ph), v.stateDue(ph)
	if power.IsZero() || !state.IsZero() && state.Before(power) {
		return state
	}
	return power
}

// stateDue is when the server will have been longer in its state than is usual; zero: never. When
// a state began follows from what was made for it.
func (v *View) stateDue(ph phase) time.Time {
	expected, bounded := usual(ph.state)
	if !bounded {
		return time.Time{}
	}
	since := v.Server.CreationTimestamp.Time
	switch ph.state {
	case metalv1.ServerStateInitial:
		if t := discoveryNotBefore(v.Server); t.After(since) {
			since = t
		}
		if b := probeboot.Of(v.Server); b != nil && b.Begun.After(since) {
			since = b.Begun
		}
	case metalv1.ServerStateDiscovery:
		if v.Boot != nil {
			since = v.Boot.CreationTimestamp.Time
		}
		if v.Attempt.Open() {
			since = *v.Attempt.Ordered
		}
	case metalv1.ServerStateCleanup:
		since = v.Now // where nothing is booted
		if v.BootInternal && v.Boot != nil {
			since = v.Boot.CreationTimestamp.Time
		}
	}
	return since.Add(expected)
}

// powerDue is when a server will be late because a power command has no effect; zero: none is without.
func (v *View) powerDue(ph phase) time.Time {
	if v.System == nil || ph.state == metalv1.ServerStateParked { // a parked machine is shut down once
		return time.Time{}
	}
	last := v.System.Command
	if last.Kind == fleet.Reset || last.Trouble == nil || last.State == fleet.Succeeded || last.State == fleet.Superseded {
		return time.Time{}
	}
	return last.TroubleSince.Add(usualPower)
}

// usualPower is how long a power command may have no effect until its server is late.
const usualPower = 5 * time.Minute

// health is condition Healthy, if the BMC says anything about it, or did.
func health(v *View) []metav1.Condition {
	c := metav1.Condition{Type: metalv1.ConditionHealthy, Status: metav1.ConditionFalse, Reason: v.System.Health, Message: "The BMC reports health " + v.System.Health}
	switch v.System.Health {
	case metalv1.ReasonHealthOK:
		c.Status = metav1.ConditionTrue
	case metalv1.ReasonHealthWarning, metalv1.ReasonHealthCritical:
		c.Message += ": look for the part in its event log"
	default:
		if apimeta.FindStatusCondition(v.Server.Status.Conditions, c.Type) == nil {
			return nil
		}
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, metalv1.ReasonHealthNotReported, "The BMC reports no health"
	}
	return []metav1.Condition{c}
}

// uefiHTTPBootCondition reports whether the BMC can be given the URL that identifies the machine.
func uefiHTTPBootCondition(v *View) metav1.Condition {
	if v.System.Boot.Offers(bmc.BootUEFIHTTP) {
		return metav1.Condition{Type: metalv1.ConditionUEFIHTTPBoot, Status: metav1.ConditionTrue, Reason: "Offered", Message: "The BMC offers UEFI HTTP boot from a given URL"}
	}
	return metav1.Condition{Type: metalv1.ConditionUEFIHTTPBoot, Status: metav1.ConditionFalse, Reason: "NotOffered", Message: "The BMC offers no UEFI HTTP boot (BootSourceOverrideTarget UefiHttp)"}
}

// credentialsCondition reports whether a server's own credentials are used for its inline BMC.
func credentialsCondition(v *View) metav1.Condition {
	c := metav1.Condition{
		Type: metalv1.ConditionCredentialsUsed, Status: metav1.ConditionTrue, Reason: metalv1.ReasonCredentialsUsed,
		Message: "Farrier logs in to the BMC with the credentials that spec.bmc names",
	}
	if v.OverriddenBy != "" {
		c.Status, c.Reason = metav1.ConditionFalse, metalv1.ReasonOtherHolder
		c.Message = v.OverriddenBy + " names the same BMC with other credentials, and Farrier uses those"
	}
	return c
}

// foreignCondition says which maintenance has the server, or that it has ended.
func foreignCondition(v *View) metav1.Condition {
	c := metav1.Condition{Type: conditionForeignMaintenance, Status: metav1.ConditionTrue}
	ref := v.Server.Spec.ServerMaintenanceRef
	switch {
	case v.Foreign.group != "":
		c.Reason = "Found"
		c.Message = fmt.Sprintf("ServerMaintenance %s/%s of %s has the server. Farrier leaves the machine alone until it is gone, or spec.serverMaintenanceRef is removed", ref.Namespace, ref.Name, v.Foreign.group)
	case v.Foreign.has():
		c.Reason = "NotFound"
		c.Message = fmt.Sprintf("spec.serverMaintenanceRef: there is no ServerMaintenance %s/%s of %s, and %s. Somebody may work on the machine: Farrier leaves it alone until spec.serverMaintenanceRef is removed",
			ref.Namespace, ref.Name, metalv1.GroupVersion.Group, v.Foreign.why)
	default:
		c.Status, c.Reason = metav1.ConditionFalse, "Ended"
	}
	return c
}

// deletionWaits says why a deleted server is kept for now; it is empty where nothing keeps it.
//
// A claimed server is kept until its claim gives it back: a new Server of the same machine would be discovered, from cold, under its
// user. A dirty one is kept until it is clean: a new Server would know nothing of the data on its disks.
func deletionWaits(s *metalv1.Server) metav1.Condition {
	waits := metav1.Condition{Type: conditionDeletionWaits, Status: metav1.ConditionTrue}
	switch {
	case s.DeletionTimestamp.IsZero():
		return metav1.Condition{}
	case s.Spec.ServerClaimRef != nil:
		ref := s.Spec.ServerClaimRef
		waits.Reason, waits.Message = "Claimed", fmt.Sprintf("The server is deleted after claim %s/%s has given it back and it is clean", ref.Namespace, ref.Name)
	case s.Annotations[metalv1.AnnotationClaimedBy] != "":
		waits.Reason = "NotClean"
		waits.Message = "The server is deleted when it is clean: a new Server of this machine would be claimed with the data on its disks. To delete it now, remove the annotation " + metalv1.AnnotationClaimedBy
	default:
		return metav1.Condition{}
	}
	return waits
}
