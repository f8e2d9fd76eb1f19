package v1alpha1

// ProtocolName says what a BMC speaks.
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

// Protocol says how a BMC is spoken to.
type Protocol struct {
	// Name of the protocol.
	Name ProtocolName `json:"name"`

	// Port that the BMC listens on; 0 means the scheme's own.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`

	// Scheme is http or https; empty means https.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() in ['', 'http', 'https']",message="must be http or https"
	Scheme ProtocolScheme `json:"scheme,omitempty"`
}

// ConsoleProtocolName says how the serial console of a server is reached.
// +kubebuilder:validation:Enum=IPMI;SSH;SSHLenovo
type ConsoleProtocolName string

const (
	// ConsoleProtocolIPMI is serial over LAN by IPMI.
	ConsoleProtocolIPMI ConsoleProtocolName = "IPMI"
	// ConsoleProtocolSSH is a console behind the BMC's SSH server.
	ConsoleProtocolSSH ConsoleProtocolName = "SSH"
	// ConsoleProtocolSSHLenovo is the same with the commands of Lenovo's XCC.
	ConsoleProtocolSSHLenovo ConsoleProtocolName = "SSHLenovo"
)

// ConsoleProtocol says where the serial console of a server is.
type ConsoleProtocol struct {
	// Name of the protocol.
	Name ConsoleProtocolName `json:"name"`

	// Port that the console listens on; 0 means the protocol's own.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}
