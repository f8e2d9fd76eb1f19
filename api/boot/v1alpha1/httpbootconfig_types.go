package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HTTPBootConfigState says whether a machine can boot a configuration.
// +kubebuilder:validation:Enum=Ready;Pending;Error
type HTTPBootConfigState string

const (
	// HTTPBootConfigStateReady means that the machine can boot it.
	HTTPBootConfigStateReady HTTPBootConfigState = "Ready"
	// HTTPBootConfigStatePending means that something is still missing.
	HTTPBootConfigStatePending HTTPBootConfigState = "Pending"
	// HTTPBootConfigStateError means that it cannot be booted; the conditions say why.
	HTTPBootConfigStateError HTTPBootConfigState = "Error"
)

// HTTPBootConfigSpec says which machine it is for and what it boots.
type HTTPBootConfigSpec struct {
	// SystemUUID is the UUID of the machine.
	// +optional
	SystemUUID string `json:"systemUUID,omitempty"`

	// NetworkIdentifiers are the IP and MAC addresses of the machine.
	// +optional
	NetworkIdentifiers []string `json:"networkIdentifiers,omitempty"`

	// SystemIPs is the older name of networkIdentifiers; both count. Added by Farrier.
	// +optional
	SystemIPs []string `json:"systemIPs,omitempty"`

	// UKIURL is where the unified kernel image is.
	// +optional
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	UKIURL string `json:"ukiURL,omitempty"`

	// IgnitionSecretRef names the Secret with the ignition of the machine.
	// +optional
	IgnitionSecretRef *LocalObjectReference `json:"ignitionSecretRef,omitempty"`
}

// HTTPBootConfigStatus says whether a machine can boot a configuration.
type HTTPBootConfigStatus struct {
	// ObservedGeneration is the generation that this status is about. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State of the configuration.
	// +optional
	State HTTPBootConfigState `json:"state,omitempty"`

	// DeliveryAttempt is the ID of the boot attempt that the conditions about deliveries refer to. Added by Farrier.
	// +optional
	DeliveryAttempt string `json:"deliveryAttempt,omitempty"`

	// IgnitionFingerprint changes with the content of the ignition Secret and reveals nothing else of it. It is empty
	// while the Secret cannot be delivered. Added by Farrier.
	// +optional
	IgnitionFingerprint string `json:"ignitionFingerprint,omitempty"`

	// Conditions explain the state.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// HTTPBootConfig is what a machine boots by UEFI HTTP boot.
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
