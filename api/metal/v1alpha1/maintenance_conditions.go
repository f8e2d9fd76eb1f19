package v1alpha1

// Condition of a ServerMaintenance. Added by Farrier.
const (
	// ConditionInMaintenance says whether a maintenance has its server, and if not, what it waits for.
	ConditionInMaintenance = "InMaintenance"

	// ReasonMaintenanceGranted is a reason of ConditionInMaintenance: it has the server.
	ReasonMaintenanceGranted = "Granted"
	// ReasonWaitingForApproval is a reason of ConditionInMaintenance: the owner of the claim has not agreed.
	ReasonWaitingForApproval = "WaitingForApproval"
	// ReasonWaitingForTurn is a reason of ConditionInMaintenance: another maintenance has the server, or goes first.
	ReasonWaitingForTurn = "WaitingForTurn"
	// ReasonWaitingForServer is a reason of ConditionInMaintenance: the server is in a state that is not interrupted.
	ReasonWaitingForServer = "WaitingForServer"
	// ReasonServerNotFound is a reason of ConditionInMaintenance: spec.serverRef names no Server.
	ReasonServerNotFound = "ServerNotFound"
	// ReasonInvalidSpec is a reason of ConditionInMaintenance: a field has a value that means nothing.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonBootConfigurationTaken is a reason of ConditionInMaintenance: an object of the template's name is somebody else's.
	ReasonBootConfigurationTaken = "BootConfigurationTaken"
	// ReasonBootConfigurationError is a reason of ConditionInMaintenance: what was asked for cannot be booted.
	ReasonBootConfigurationError = "BootConfigurationError"
	// ReasonMaintenanceEnding is a reason of ConditionInMaintenance: the server is being restored.
	ReasonMaintenanceEnding = "Ending"
)

// AnnotationMaintainedBy holds, on a Server, which ServerMaintenance of this group has it: <namespace>/<name>@<UID>. It is written
// with spec.serverMaintenanceRef. A reference without it may name an object of another group, which spec does not tell.
// Added by Farrier.
const AnnotationMaintainedBy = "farrier.dev/maintained-by"

// AnnotationIndicatorBefore holds, on a Server in maintenance, what its light was before the maintenance
// changed it. Added by Farrier.
const AnnotationIndicatorBefore = "farrier.dev/indicator-before"
