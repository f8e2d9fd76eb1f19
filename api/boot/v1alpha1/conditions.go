package v1alpha1

// Conditions of boot configurations. Those about what was fetched are reset when a new boot is ordered.
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
	// ConditionIgnitionContent is true while the ignition Secret can be delivered; status.ignitionFingerprint identifies its
	// content. Added by Farrier.
	ConditionIgnitionContent = "IgnitionContent"
	// ConditionKernelFetched says whether the machine, or who asks from its address, has fetched a part of the image that its script names.
	// Added by Farrier.
	ConditionKernelFetched = "KernelFetched"
	// ConditionUKIFetched says whether the machine has fetched its unified kernel image. Added by Farrier.
	ConditionUKIFetched = "UKIFetched"
)
