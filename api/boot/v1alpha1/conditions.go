package v1alpha1

// Conditions of boot configurations. They are reset when a new boot is ordered.
const (
	// ConditionIPXEScriptFetched says whether the machine has asked for its script.
	ConditionIPXEScriptFetched = "IPXEScriptFetched"
	// ConditionIPXEScriptDelivered says whether the machine got all of its script.
	ConditionIPXEScriptDelivered = "IPXEScriptDelivered"
	// ConditionIgnitionDataFetched says whether the machine has asked for its ignition.
	ConditionIgnitionDataFetched = "IgnitionDataFetched"
	// ConditionIgnitionDataDelivered says whether the machine got all of its ignition.
	ConditionIgnitionDataDelivered = "IgnitionDataDelivered"
	// ConditionIgnitionReadAgain says that ignition was read more than once in one boot attempt, and by whom. Added by Farrier.
	ConditionIgnitionReadAgain = "IgnitionReadAgain"
	// ConditionUKIFetched says whether the machine has fetched its unified kernel image. Added by Farrier.
	ConditionUKIFetched = "UKIFetched"
)
