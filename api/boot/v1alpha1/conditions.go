package v1alpha1

// Conditions of boot configurations. Those about what was fetched are reset when a new boot is ordered.
const (
	// ConditionIPXEScriptFetched reports whether the machine has requested its iPXE script.
	ConditionIPXEScriptFetched = "IPXEScriptFetched"
	// ConditionIPXEScriptDelivered reports whether the machine has received its whole iPXE script.
	ConditionIPXEScriptDelivered = "IPXEScriptDelivered"
	// ConditionIgnitionDataFetched reports whether the machine has requested its ignition.
	ConditionIgnitionDataFetched = "IgnitionDataFetched"
	// ConditionIgnitionDataDelivered reports whether the machine has received its whole ignition.
	ConditionIgnitionDataDelivered = "IgnitionDataDelivered"
	// ConditionIgnitionReadAgain is true when ignition was read more than once in one boot attempt; the message names the reader.
	// Added by Farrier.
	ConditionIgnitionReadAgain = "IgnitionReadAgain"
	// ConditionIgnitionContent is true while the ignition Secret can be delivered; status.ignitionFingerprint identifies its
	// content. Added by Farrier.
	ConditionIgnitionContent = "IgnitionContent"
	// ConditionKernelFetched reports whether the machine, or another client at its address, has fetched a part of the image that
	// its script names. Added by Farrier.
	ConditionKernelFetched = "KernelFetched"
	// ConditionUKIFetched reports whether the machine has fetched its unified kernel image. Added by Farrier.
	ConditionUKIFetched = "UKIFetched"
	// ConditionBootServerReached is false while boot servers without Kubernetes answer the machine and none of its site uses the boot config as it
	// is. It is absent otherwise. Where another boot provider serves boot configs, the ServerBootConfiguration has it. Added by Farrier.
	ConditionBootServerReached = "BootServerReached"
)

// Reasons of ConditionBootServerReached.
const (
	// ReasonNoBootServer: none of the machine's site was connected for ten seconds; the boot went on.
	ReasonNoBootServer = "NoBootServer"
	// ReasonNotAcknowledged: none has confirmed the boot within ten seconds; the boot went on.
	ReasonNotAcknowledged = "NotAcknowledged"
	// ReasonRefused: a boot server cannot use it, and goes on with what it had.
	ReasonRefused = "Refused"
)
