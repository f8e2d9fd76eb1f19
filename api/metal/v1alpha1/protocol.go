package v1alpha1

// ProtocolName is the management protocol of a BMC.
type ProtocolName string

// ProtocolRedfish is Redfish (DSP0266) over HTTP or HTTPS.
const ProtocolRedfish ProtocolName = "Redfish"

// ProtocolScheme is the URL scheme of a protocol that has one.
type ProtocolScheme string

const (
	// SchemeHTTP is plain HTTP.
	SchemeHTTP ProtocolScheme = "http"
	// SchemeHTTPS is HTTP over TLS, and what an empty scheme means.
	SchemeHTTPS ProtocolScheme = "https"
)

// Protocol defines how Farrier connects to a BMC.
type Protocol struct {
	// Name of the protocol: Redfish.
	Name ProtocolName `json:"name"`

	// Port of the BMC. 0 means the default port of the scheme: 443 for https, 80 for http.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`

	// Scheme is http or https. The default is https.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() in ['', 'http', 'https']",message="must be http or https"
	Scheme ProtocolScheme `json:"scheme,omitempty"`
}

// ConsoleProtocolName is the protocol of a serial console.
// +kubebuilder:validation:Enum=IPMI;SSH;SSHLenovo
type ConsoleProtocolName string

const (
	// ConsoleProtocolIPMI is IPMI serial over LAN.
	ConsoleProtocolIPMI ConsoleProtocolName = "IPMI"
	// ConsoleProtocolSSH is a console behind the SSH server of the BMC.
	ConsoleProtocolSSH ConsoleProtocolName = "SSH"
	// ConsoleProtocolSSHLenovo is a console behind the SSH server of a Lenovo XCC, with its commands.
	ConsoleProtocolSSHLenovo ConsoleProtocolName = "SSHLenovo"
)

// ConsoleProtocol defines how the serial console of a server is reached.
type ConsoleProtocol struct {
	// Name of the protocol.
	Name ConsoleProtocolName `json:"name"`

	// Port of the console. 0 means the default port of the protocol.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}
