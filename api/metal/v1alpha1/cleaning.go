package v1alpha1

// What Farrier remembers on a Server about cleaning it.
const (
	// AnnotationClaimCleanup, on a Server, holds what its present or last claim asked for by AnnotationCleanup. The claim itself
	// no longer exists when the server is cleaned.
	AnnotationClaimCleanup = "farrier.dev/claim-cleanup"

	// AnnotationCleanupHeld, on a Server, keeps every probe from wiping, because the probe of a boot attempt has not reported and
	// is about to be booted again. Its value is <attempt ID>@<RFC 3339>.
	AnnotationCleanupHeld = "farrier.dev/cleanup-held"

	// AnnotationBootOrder, on a Server, holds the boot order it had when it became available: references of boot options,
	// separated by commas.
	AnnotationBootOrder = "farrier.dev/boot-order"
)

// Reasons of ConditionCleaned, and of the events that go with them.
const (
	// ReasonCleaned means that the server is clean and its record exists.
	ReasonCleaned = "Cleaned"
	// ReasonPassedThrough means that cleaning is switched off and nobody asked for more.
	ReasonPassedThrough = "PassedThrough"
	// ReasonCleanupFailed means that a disk could not be wiped, or that no record of it came in time.
	ReasonCleanupFailed = "CleanupFailed"
	// ReasonCleanupUnknown means that AnnotationCleanup of the server or of its last claim has an unknown value.
	ReasonCleanupUnknown = "CleanupUnknown"
)
