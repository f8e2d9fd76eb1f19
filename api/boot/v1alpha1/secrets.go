package v1alpha1

// Keys of the Secrets that boot configurations name.
const (
	// SecretKeyIgnition is the key of the ignition payload.
	SecretKeyIgnition = "ignition"
	// SecretKeyFormat is the key of the payload's format: FormatFCOS, or any other value for a payload that is sent unchanged.
	SecretKeyFormat = "format"
	// SecretKeyIPXEScript is the key of a script that replaces the one that Farrier renders.
	SecretKeyIPXEScript = "ipxe-script"
)

// FormatFCOS is the format of a Butane payload, variant fcos. Farrier translates it to Ignition.
const FormatFCOS = "fcos"
