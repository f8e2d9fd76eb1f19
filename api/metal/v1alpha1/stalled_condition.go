package v1alpha1

// ConditionStalled is true while an object makes no progress and Farrier therefore limits the writes and requests for it, in the
// meaning of kstatus. An object that was never limited does not have it. Added by Farrier.
const ConditionStalled = "Stalled"

// ReasonNoProgress is the reason of ConditionStalled and of its event: the object was written, or its BMC was asked, again and
// again, and the object reached no state that it had not had recently.
const ReasonNoProgress = "NoProgress"
