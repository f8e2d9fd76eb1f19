package v1alpha1

// Condition of a ServerMaintenance. Added by Farrier.
const (
	// ConditionInMaintenance reports whether a maintenance has its server, and if not, what it waits for.
	ConditionInMaintenance = "InMaintenance"

	// ReasonMaintenanceGranted is a reason of ConditionInMaintenance: the maintenance has the server.
	ReasonMaintenanceGranted = "Granted"
	// ReasonWaitingForApproval is a reason of ConditionInMaintenance: the owner of the claim has not approved it.
	ReasonWaitingForApproval = "WaitingForApproval"
	// ReasonWaitingForTurn is a reason of ConditionInMaintenance: another maintenance has the server, or has precedence.
	ReasonWaitingForTurn = "WaitingForTurn"
	// ReasonWaitingForServer is a reason of ConditionInMaintenance: the server is in a state that is not interrupted.
	ReasonWaitingForServer = "WaitingForServer"
	// ReasonServerNotFound is a reason of ConditionInMaintenance: the Server in spec.serverRef does not exist.
	ReasonServerNotFound = "ServerNotFound"
	// ReasonInvalidSpec is a reason of ConditionInMaintenance: a field has an invalid value.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonBootConfigurationTaken is a reason of ConditionInMaintenance: the ServerBootConfiguration that the template names
	// belongs to something else.
	ReasonBootConfigurationTaken = "BootConfigurationTaken"
	// ReasonBootConfigurationError is a reason of ConditionInMaintenance: the boot configuration cannot be booted.
	ReasonBootConfigurationError = "BootConfigurationError"
	// ReasonMaintenanceEnding is a reason of ConditionInMaintenance: the server is being restored.
	ReasonMaintenanceEnding = "Ending"
)

// ReasonWaitingForRollout is a reason of ConditionReady of settings and versions: something differs, and the RolloutPolicy that they go by has
// not let them begin.
const ReasonWaitingForRollout = "WaitingForRollout"

// AnnotationMaintainedBy, on a Server, names the ServerMaintenance of this API group that has the server:
// <namespace>/<name>@<UID>. Farrier writes it together with spec.serverMaintenanceRef. A reference without this annotation may
// name an object of another API group, since the spec does not hold the group. Added by Farrier.
const AnnotationMaintainedBy = "farrier.dev/maintained-by"

// AnnotationIndicatorBefore, on a Server in maintenance, holds the state of its indicator LED before the maintenance changed it.
// Added by Farrier.
const AnnotationIndicatorBefore = "farrier.dev/indicator-before"
