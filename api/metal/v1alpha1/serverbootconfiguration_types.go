package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ServerBootConfigurationState says whether a boot configuration can be booted.
type ServerBootConfigurationState string

const (
	// ServerBootConfigurationStatePending means that something is still being prepared.
	ServerBootConfigurationStatePending ServerBootConfigurationState = "Pending"
	// ServerBootConfigurationStateReady means that the server can boot it.
	ServerBootConfigurationStateReady ServerBootConfigurationState = "Ready"
	// ServerBootConfigurationStateError means that it cannot; the conditions say why.
	ServerBootConfigurationStateError ServerBootConfigurationState = "Error"
)

// ServerBootConfigurationSpec says what a server boots.
type ServerBootConfigurationSpec struct {
	// ServerRef names the server.
	ServerRef LocalObjectReference `json:"serverRef"`

	// Image is the OCI image that the server boots.
	// +optional
	Image string `json:"image,omitempty"`

	// IgnitionSecretRef names the Secret with the ignition of the server.
	// +optional
	IgnitionSecretRef *LocalObjectReference `json:"ignitionSecretRef,omitempty"`
}

// ServerBootConfigurationStatus says whether a boot configuration can be booted.
type ServerBootConfigurationStatus struct {
	// ObservedGeneration is the generation that this status is about. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State of the boot configuration.
	// +optional
	State ServerBootConfigurationState `json:"state,omitempty"`

	// ImageDigest is the digest of the image that the server is given. Added by Farrier.
	// +optional
	ImageDigest string `json:"imageDigest,omitempty"`

	// IgnitionFingerprint changes with the content of the ignition Secret and reveals nothing else of it. It is empty
	// while the Secret cannot be delivered. Added by Farrier.
	// +optional
	IgnitionFingerprint string `json:"ignitionFingerprint,omitempty"`

	// DeliveryAttempt is the ID of the boot attempt that the conditions about deliveries (IPXEScriptFetched,
	// IgnitionDataFetched, …) refer to. Added by Farrier.
	// +optional
	DeliveryAttempt string `json:"deliveryAttempt,omitempty"`

	// BootStateAttempt is the ID of the boot attempt that the condition BootStateReceived refers to. Added by Farrier.
	// +optional
	BootStateAttempt string `json:"bootStateAttempt,omitempty"`

	// Conditions explain the state.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ServerBootConfiguration says what a server boots, whichever boot method its image asks for.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sbc
// +kubebuilder:printcolumn:name="ServerRef",type=string,JSONPath=`.spec.serverRef.name`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="IgnitionRef",type=string,JSONPath=`.spec.ignitionSecretRef.name`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type ServerBootConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ServerBootConfigurationSpec `json:"spec,omitempty"`
	// +optional
	Status ServerBootConfigurationStatus `json:"status,omitempty"`
}

// ServerBootConfigurationList is a list of ServerBootConfigurations.
// +kubebuilder:object:root=true
type ServerBootConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServerBootConfiguration `json:"items"`
}
