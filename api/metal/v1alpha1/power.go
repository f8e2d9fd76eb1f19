package v1alpha1

// Power is the power state that a server should have.
type Power string

const (
	// PowerOn switches the server on.
	PowerOn Power = "On"
	// PowerOff switches the server off.
	PowerOff Power = "Off"
)

// PowerState is the power state that a BMC reported (DSP0268, Resource.PowerState).
type PowerState string

const (
	// PowerStateOn means on.
	PowerStateOn PowerState = "On"
	// PowerStateOff means off, except for standby power.
	PowerStateOff PowerState = "Off"
	// PowerStatePaused means on but not executing.
	PowerStatePaused PowerState = "Paused"
	// PowerStatePoweringOn means changing from off to on.
	PowerStatePoweringOn PowerState = "PoweringOn"
	// PowerStatePoweringOff means changing from on to off.
	PowerStatePoweringOff PowerState = "PoweringOff"
	// PowerStateUnknown means that the BMC does not report it.
	PowerStateUnknown PowerState = "Unknown"
)

// IndicatorLED is the state of the light that helps to find a server in its rack.
type IndicatorLED string

const (
	// IndicatorLEDUnknown means that the BMC does not report it.
	IndicatorLEDUnknown IndicatorLED = "Unknown"
	// IndicatorLEDLit means lit.
	IndicatorLEDLit IndicatorLED = "Lit"
	// IndicatorLEDBlinking means blinking.
	IndicatorLEDBlinking IndicatorLED = "Blinking"
	// IndicatorLEDOff means off.
	IndicatorLEDOff IndicatorLED = "Off"
)
