package v1alpha1

// ConditionStalled is true on an object of any kind while what Farrier does for it comes to nothing and is therefore done at most
// some times a minute, as kstatus means it. There is none where nothing ever was. Added by Farrier.
const ConditionStalled = "Stalled"

// ReasonNoProgress is a reason of ConditionStalled, and of the event: the object was written, or its BMC was asked, again and again, and
// it was in no state that it had not been in lately.
const ReasonNoProgress = "NoProgress"
