package v1alpha1

// Power is a power state that is wanted.
type Power string

const (
	// PowerOn wants a server on.
	PowerOn Power = "On"
	// PowerOff wants a server off.
	PowerOff Power = "Off"
)

// PowerState is a power state that was observed (DSP0268, Resource.PowerState).
type PowerState string

const (
	// PowerStateOn means on.
	PowerStateOn PowerState = "On"
	// PowerStateOff means off, apart from standby power.
	PowerStateOff PowerState = "Off"
	// PowerStatePaused means on and not executing.
	PowerStatePaused PowerState = "Paused"
	// PowerStatePoweringOn means on its way from off to on.
	PowerStatePoweringOn PowerState = "PoweringOn"
	// PowerStatePoweringOff means on its way from on to off.
	PowerStatePoweringOff PowerState = "PoweringOff"
	// PowerStateUnknown means that the BMC does not say.
	PowerStateUnknown PowerState = "Unknown"
)

// IndicatorLED is the state of the light by which a server is found in its rack.
type IndicatorLED string

const (
	// IndicatorLEDUnknown means that the BMC does not say.
	IndicatorLEDUnknown IndicatorLED = "Unknown"
	// IndicatorLEDLit means lit.
	IndicatorLEDLit IndicatorLED = "Lit"
	// IndicatorLEDBlinking means blinking.
	IndicatorLEDBlinking IndicatorLED = "Blinking"
	// IndicatorLEDOff means off.
	IndicatorLEDOff IndicatorLED = "Off"
)
