package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ServerBootConfigurationState tells whether a server can boot a ServerBootConfiguration.
type ServerBootConfigurationState string

const (
	// ServerBootConfigurationStatePending means that Farrier still prepares the boot.
	ServerBootConfigurationStatePending ServerBootConfigurationState = "Pending"
	// ServerBootConfigurationStateReady means that the server can boot the configuration.
	ServerBootConfigurationStateReady ServerBootConfigurationState = "Ready"
	// ServerBootConfigurationStateError means that the configuration cannot be booted; the conditions give the reason.
	ServerBootConfigurationStateError ServerBootConfigurationState = "Error"
)

// ServerBootConfigurationSpec defines what a server boots.
type ServerBootConfigurationSpec struct {
	// ServerRef names the Server that boots.
	ServerRef LocalObjectReference `json:"serverRef"`

	// Image is the reference of the OCI image that the server boots, such as ghcr.io/org/os:1.0.
	// +optional
	Image string `json:"image,omitempty"`

	// IgnitionSecretRef names the Secret that holds the server's ignition, in the namespace of this object.
	// +optional
	IgnitionSecretRef *LocalObjectReference `json:"ignitionSecretRef,omitempty"`
}

// ServerBootConfigurationStatus reports whether the server can boot the configuration. The boot provider writes it.
type ServerBootConfigurationStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State is Ready when the server can boot the configuration, Pending while it is being prepared, and Error when it cannot be
	// booted.
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

	// Conditions give the reasons for the state.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ServerBootConfiguration defines what a server boots, by any boot method. Farrier creates one for each claim and for discovery.
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

func init() { register(&ServerBootConfiguration{}, &ServerBootConfigurationList{}) }
