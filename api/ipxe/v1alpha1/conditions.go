package v1alpha1

// Conditions of an Assignment.
const (
	// ConditionAccepted says whether the Assignment is well formed.
	ConditionAccepted = "Accepted"
	// ConditionProfileResolved says whether the Profile it asks for was found.
	ConditionProfileResolved = "ProfileResolved"
	// ConditionConflicted says whether another Assignment wants the same machines.
	ConditionConflicted = "Conflicted"
	// ConditionProgrammed says whether machines are being answered by it.
	ConditionProgrammed = "Programmed"
)

// ConditionOverridden says whether something else than an Assignment speaks for a machine that
// it names.
const ConditionOverridden = "Overridden"

// Reasons of ConditionAccepted, ConditionProgrammed and ConditionOverridden.
const (
	// ReasonNotGranted means that the namespace may not speak for these machines; the message names what is missing.
	ReasonNotGranted = "NotGranted"
	// ReasonOverridden means that other Assignments, which the message names, decide for all machines of this one.
	ReasonOverridden = "Overridden"
	// ReasonAssignment means that other Assignments, which the message names, decide for some machines of this one.
	ReasonAssignment = "Assignment"
)

// Conditions of a Profile.
const (
	// ConditionReady says whether a Profile can be served.
	ConditionReady = "Ready"
	// ConditionContentResolved says whether all additional content is there and fresh.
	ConditionContentResolved = "ContentResolved"
	// ConditionTransformed says what became of content that is transformed, with the
	// translator's warnings.
	ConditionTransformed = "Transformed"
	// ConditionRendered is False where the script, as it is now, could not be rendered for some machine; there is none
	// while it always could.
	ConditionRendered = "Rendered"
)

// Reasons of ConditionConflicted and ConditionProfileResolved.
const (
	// ReasonDuplicate means that an older Assignment has the same selectors and priority.
	ReasonDuplicate = "Duplicate"
	// ReasonAmbiguous means that another Assignment overlaps and neither is more specific.
	ReasonAmbiguous = "Ambiguous"
	// ReasonProfileAmbiguous means that several Profiles match; the oldest is served.
	ReasonProfileAmbiguous = "ProfileAmbiguous"
)
