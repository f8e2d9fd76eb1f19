package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HTTPBootConfigState tells whether a machine can boot an HTTPBootConfig.
// +kubebuilder:validation:Enum=Ready;Pending;Error
type HTTPBootConfigState string

const (
	// HTTPBootConfigStateReady means that the machine can boot the configuration.
	HTTPBootConfigStateReady HTTPBootConfigState = "Ready"
	// HTTPBootConfigStatePending means that something is still missing; the conditions name it.
	HTTPBootConfigStatePending HTTPBootConfigState = "Pending"
	// HTTPBootConfigStateError means that the configuration cannot be booted; the conditions give the reason.
	HTTPBootConfigStateError HTTPBootConfigState = "Error"
)

// HTTPBootConfigSpec defines which machine boots, and what it boots.
type HTTPBootConfigSpec struct {
	// SystemUUID is the SMBIOS UUID of the machine. Give it, networkIdentifiers, or both.
	// +optional
	SystemUUID string `json:"systemUUID,omitempty"`

	// NetworkIdentifiers are the IP and MAC addresses of the machine.
	// +optional
	NetworkIdentifiers []string `json:"networkIdentifiers,omitempty"`

	// SystemIPs is the older name of networkIdentifiers. Farrier uses the addresses of both fields. Added by Farrier.
	// +optional
	SystemIPs []string `json:"systemIPs,omitempty"`

	// UKIURL is the URL of the unified kernel image (UKI) that the machine boots.
	// +optional
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	UKIURL string `json:"ukiURL,omitempty"`

	// IgnitionSecretRef names the Secret that holds the machine's ignition, in the namespace of this object.
	// +optional
	IgnitionSecretRef *LocalObjectReference `json:"ignitionSecretRef,omitempty"`
}

// HTTPBootConfigStatus reports whether a machine can boot the configuration. Farrier writes it.
type HTTPBootConfigStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State is Ready when the machine can boot the configuration, Pending while something is missing, and Error when it cannot be
	// booted.
	// +optional
	State HTTPBootConfigState `json:"state,omitempty"`

	// DeliveryAttempt is the ID of the boot attempt that the conditions about deliveries refer to. Added by Farrier.
	// +optional
	DeliveryAttempt string `json:"deliveryAttempt,omitempty"`

	// IgnitionFingerprint changes with the content of the ignition Secret and reveals nothing else of it. It is empty
	// while the Secret cannot be delivered. Added by Farrier.
	// +optional
	IgnitionFingerprint string `json:"ignitionFingerprint,omitempty"`

	// Conditions give the reasons for the state, and report what the machine has fetched.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// HTTPBootConfig defines what one machine boots by UEFI HTTP boot. Farrier creates it from a ServerBootConfiguration; you can
// create one by hand for a machine that has no Server.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type HTTPBootConfig struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec HTTPBootConfigSpec `json:"spec,omitempty"`
	// +optional
	Status HTTPBootConfigStatus `json:"status,omitempty"`
}

// HTTPBootConfigList is a list of HTTPBootConfigs.
// +kubebuilder:object:root=true
type HTTPBootConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HTTPBootConfig `json:"items"`
}

func init() { register(&HTTPBootConfig{}, &HTTPBootConfigList{}) }
