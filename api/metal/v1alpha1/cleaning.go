package v1alpha1

// What Farrier remembers on a Server about cleaning it.
const (
	// AnnotationClaimCleanup holds, on a Server, what the claim that has it or had it asks for by
	// AnnotationCleanup: the claim itself is gone when the server is cleaned.
	AnnotationClaimCleanup = "farrier.dev/claim-cleanup"

	// AnnotationCleanupHeld says, on a Server, that no probe is told to wipe: the one that was booted in an attempt was not heard of,
	// and is about to be booted again. Its value is <attempt ID>@<RFC 3339>.
	AnnotationCleanupHeld = "farrier.dev/cleanup-held"

	// AnnotationBootOrder holds, on a Server, the boot order that it had when it became available: a
	// comma list of references of boot options.
	AnnotationBootOrder = "farrier.dev/boot-order"
)

// Reasons of ConditionCleaned, and of the events that go with them.
const (
	// ReasonCleaned: the server is clean, and its record exists.
	ReasonCleaned = "Cleaned"
	// ReasonPassedThrough: cleaning is switched off, and nobody asked for more.
	ReasonPassedThrough = "PassedThrough"
	// ReasonCleanupFailed: a disk could not be wiped, or no record of it came in time.
	ReasonCleanupFailed = "CleanupFailed"
	// ReasonCleanupUnknown: AnnotationCleanup, of the server or of its last claim, has a word that means nothing.
	ReasonCleanupUnknown = "CleanupUnknown"
)
