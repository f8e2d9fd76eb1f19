package v1alpha1

// Keys of the Secrets that boot configurations name.
const (
	// SecretKeyIgnition holds the ignition payload.
	SecretKeyIgnition = "ignition"
	// SecretKeyFormat says what the payload is: FormatFCOS, or anything else for bytes that are sent as they are.
	SecretKeyFormat = "format"
	// SecretKeyIPXEScript holds a script that is sent in place of the default one.
	SecretKeyIPXEScript = "ipxe-script"
)

// FormatFCOS is the format of a payload that is Butane, variant fcos, and is translated.
const FormatFCOS = "fcos"
