package maintenance

import (
	"fmt"
	"slices"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/turn"
)

// view is everything that the decision about one maintenance looks at.
type view struct {
	obj *metalv1.ServerMaintenance
	// server is nil where there is none of the name.
	server *metalv1.Server
	// claim is the claim that has the server; nil where none has, or it is being deleted.
	claim *metalv1.ServerClaim
	// rivals are all maintenances of the server that are not being deleted, this one included.
	rivals []metalv1.ServerMaintenance
	// boot is the object of the template's name; nil where there is none.
	boot *metalv1.ServerBootConfiguration
}

// verdict is what becomes of a maintenance.
type verdict struct {
	state           metalv1.ServerMaintenanceState
	reason, message string
	// take says that it may have the server now.
	take bool
	// keep says that it has the server, whatever else there is to say.
	keep bool
}

func pending(reason, format string, args ...any) verdict {
	return verdict{state: metalv1.ServerMaintenanceStatePending, reason: reason, message: fmt.Sprintf(format, args...)}
}

func failed(reason, format string, args ...any) verdict {
	return verdict{state: metalv1.ServerMaintenanceStateFailed, reason: reason, message: fmt.Sprintf(format, args...)}
}

// decide reports whether a maintenance has its server, may have it, or what it waits for.
func (v *view) decide() verdict {
	has := v.server != nil && holds(v.server, v.obj)
	if problem := v.invalid(); problem.reason != "" {
		problem.keep = has
		return problem
	}
	switch {
	case v.server == nil:
		return pending(metalv1.ReasonServerNotFound, "spec.serverRef: Server %q does not exist", v.obj.Spec.ServerRef.Name)
	case has:
		return v.had()
	case !v.server.DeletionTimestamp.IsZero():
		return pending(metalv1.ReasonWaitingForServer, "Server %q is being deleted", v.server.Name)
	case v.server.Spec.ServerMaintenanceRef != nil:
		other := v.server.Spec.ServerMaintenanceRef
		return pending(metalv1.ReasonWaitingForTurn, "ServerMaintenance %s/%s has the server", other.Namespace, other.Name)
	case !turn.Approved(v.obj, v.claim):
		return pending(metalv1.ReasonWaitingForApproval, "ServerClaim %s/%s lacks the label %s", v.claim.Namespace, v.claim.Name, metalv1.LabelMaintenanceApproved)
	}
	if why := v.occupied(); why != "" {
		return pending(metalv1.ReasonWaitingForServer, "%s", why)
	}
	if first := turn.First(v.rivals, v.claim, v.obj); first != nil && first.UID != v.obj.UID {
		return pending(metalv1.ReasonWaitingForTurn, "Waiting for ServerMaintenance %s/%s, which is first in the queue", first.Namespace, first.Name)
	}
	return verdict{
		state: metalv1.ServerMaintenanceStateInMaintenance, reason: metalv1.ReasonMaintenanceGranted,
		message: fmt.Sprintf("Server %q is in maintenance", v.server.Name), take: true,
	}
}

// had is the verdict for a maintenance that has its server.
func (v *view) had() verdict {
	if v.boot != nil && v.boot.Status.State == metalv1.ServerBootConfigurationStateError && v.boot.Status.ObservedGeneration == v.boot.Generation {
		problem := failed(metalv1.ReasonBootConfigurationError, "ServerBootConfiguration %s/%s cannot be booted; its conditions say why", v.boot.Namespace, v.boot.Name)
		problem.keep = true
		return problem
	}
	return verdict{
		state: metalv1.ServerMaintenanceStateInMaintenance, reason: metalv1.ReasonMaintenanceGranted,
		message: fmt.Sprintf("Server %q is in maintenance", v.server.Name), keep: true,
	}
}

// invalid finds what no server can help with. The schema of the contract has plain strings where only a few
// values mean anything.
func (v *view) invalid() verdict {
	spec := &v.obj.Spec
	oneOf := func(field, value string, known ...string) verdict {
		if value == "" || slices.Contains(known, value) {
			return verdict{}
		}
		return failed(metalv1.ReasonInvalidSpec, "spec.%s: %.64q is not one of %v", field, value, known)
	}
	led := []string{string(metalv1.IndicatorLEDLit), string(metalv1.IndicatorLEDBlinking), string(metalv1.IndicatorLEDOff)}
	for _, problem := range []verdict{
		oneOf("policy", string(spec.Policy), string(metalv1.ServerMaintenancePolicyOwnerApproval), string(metalv1.ServerMaintenancePolicyEnforced)),
		oneOf("serverPower", string(spec.ServerPower), string(metalv1.PowerOn), string(metalv1.PowerOff)),
		oneOf("locatorLED", string(spec.LocatorLED), led...),
	} {
		if problem.reason != "" {
			return problem
		}
	}
	template := spec.ServerBootConfigurationTemplate
	switch {
	case spec.ServerRef.Name == "":
		return failed(metalv1.ReasonInvalidSpec, "spec.serverRef.name is empty")
	case template == nil:
	case template.Name == "":
		return failed(metalv1.ReasonInvalidSpec, "spec.serverBootConfigurationTemplate.name is empty")
	case template.Spec.ServerRef.Name != "" && template.Spec.ServerRef.Name != spec.ServerRef.Name:
		return failed(metalv1.ReasonInvalidSpec, "spec.serverBootConfigurationTemplate.spec.serverRef: %q is not the server of the maintenance, %q", template.Spec.ServerRef.Name, spec.ServerRef.Name)
	case v.boot != nil && !controls(v.obj, v.boot):
		return failed(metalv1.ReasonBootConfigurationTaken, "spec.serverBootConfigurationTemplate.name: ServerBootConfiguration %s/%s exists and belongs to something else", v.boot.Namespace, v.boot.Name)
	}
	return verdict{}
}

// occupied says why the server is not to be interrupted now. All of it follows from what is durable,
// except that nobody but the Server's own controller can tell Discovery from rest.
func (v *view) occupied() string {
	s := v.server
	state := s.Status.State
	switch {
	case s.Annotations[metalv1.AnnotationParked] == metalv1.AnnotationTrue:
		return fmt.Sprintf("Server %q is parked", s.Name)
	case v.claim != nil:
		return ""
	case s.Spec.ServerClaimRef != nil && state != metalv1.ServerStateReleased:
		return fmt.Sprintf("Server %q is being released", s.Name)
	case s.Spec.ServerClaimRef == nil && s.Annotations[metalv1.AnnotationClaimedBy] != "" && state != metalv1.ServerStateError:
		return fmt.Sprintf("Server %q has to be cleaned first", s.Name)
	case state == metalv1.ServerStateInitial && s.Spec.BootConfigurationRef == nil:
		return ""
	case state != metalv1.ServerStateAvailable && state != metalv1.ServerStateReleased && state != metalv1.ServerStateError:
		return fmt.Sprintf("Server %q is in state %q, which a maintenance does not interrupt", s.Name, state)
	}
	return ""
}

// holds reports whether a maintenance has the server.
func holds(server *metalv1.Server, obj *metalv1.ServerMaintenance) bool {
	ref := server.Spec.ServerMaintenanceRef
	return ref != nil && ref.Namespace == obj.Namespace && ref.Name == obj.Name
}
