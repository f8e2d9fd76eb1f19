package v1alpha1

// Reasons of a Rollout in which nothing waits any more, or something has begun.
const (
	// ReasonInProgress: some have begun and not ended.
	ReasonInProgress = "InProgress"
	// ReasonCompleted: all are done.
	ReasonCompleted = "Completed"
	// ReasonCompletedWithFailures: nothing waits or is in progress any more, and some have failed.
	ReasonCompletedWithFailures = "CompletedWithFailures"
)
