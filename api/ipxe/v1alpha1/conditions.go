package v1alpha1

// Conditions of an Assignment.
const (
	// ConditionAccepted reports whether the Assignment is well formed.
	ConditionAccepted = "Accepted"
	// ConditionProfileResolved reports whether the Profile that the Assignment asks for exists.
	ConditionProfileResolved = "ProfileResolved"
	// ConditionConflicted reports whether another Assignment selects the same machines.
	ConditionConflicted = "Conflicted"
	// ConditionProgrammed reports whether machines are answered by this Assignment.
	ConditionProgrammed = "Programmed"
)

// ConditionOverridden reports whether something other than this Assignment decides for a machine that it selects.
const ConditionOverridden = "Overridden"

// Reasons of ConditionAccepted, ConditionProgrammed and ConditionOverridden.
const (
	// ReasonNotGranted means that the namespace is not allowed to decide for these machines; the message names the missing grant.
	ReasonNotGranted = "NotGranted"
	// ReasonOverridden means that other Assignments decide for all machines of this one; the message names them.
	ReasonOverridden = "Overridden"
	// ReasonAssignment means that other Assignments decide for some machines of this one; the message names them.
	ReasonAssignment = "Assignment"
)

// Conditions of a Profile.
const (
	// ConditionReady reports whether the Profile can be served.
	ConditionReady = "Ready"
	// ConditionContentResolved reports whether all additional content is available and fresh.
	ConditionContentResolved = "ContentResolved"
	// ConditionTransformed reports whether additional content could be transformed; the message holds the translator's warnings.
	ConditionTransformed = "Transformed"
	// ConditionRendered is False if the current script could not be rendered for some machine. The Profile does not have it
	// otherwise.
	ConditionRendered = "Rendered"
)

// ConditionBootServerReached is False while a boot server without Kubernetes cannot use a Profile or an Assignment as it is and goes on with what it
// had. It is absent otherwise. Added by Farrier.
const ConditionBootServerReached = "BootServerReached"

// ReasonRefused is a reason of ConditionRendered and ConditionBootServerReached; the message says who refuses what, and why.
const ReasonRefused = "Refused"

// Reasons of ConditionConflicted and ConditionProfileResolved.
const (
	// ReasonDuplicate means that an older Assignment has the same selectors and priority.
	ReasonDuplicate = "Duplicate"
	// ReasonAmbiguous means that another Assignment overlaps with this one and neither is more specific.
	ReasonAmbiguous = "Ambiguous"
	// ReasonProfileAmbiguous means that several Profiles match; the oldest is served.
	ReasonProfileAmbiguous = "ProfileAmbiguous"
)
