package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IPXEBootConfigState says whether a machine can boot a configuration.
// +kubebuilder:validation:Enum=Ready;Pending;Error
type IPXEBootConfigState string

const (
	// IPXEBootConfigStateReady means that the machine can boot it.
	IPXEBootConfigStateReady IPXEBootConfigState = "Ready"
	// IPXEBootConfigStatePending means that something is still missing.
	IPXEBootConfigStatePending IPXEBootConfigState = "Pending"
	// IPXEBootConfigStateError means that it cannot be booted; the conditions say why.
	IPXEBootConfigStateError IPXEBootConfigState = "Error"
)

// IPXEBootConfigSpec says which machine it is for and what it boots: kernel and initial RAM
// disk, or a script of its own.
// +kubebuilder:validation:XValidation:rule="(has(self.ipxeScriptSecretRef) && self.ipxeScriptSecretRef.name.size() > 0) || (has(self.kernelURL) && self.kernelURL.size() > 0)",message="kernelURL is required unless ipxeScriptSecretRef is set",fieldPath=".kernelURL",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="(has(self.ipxeScriptSecretRef) && self.ipxeScriptSecretRef.name.size() > 0) || (has(self.initrdURL) && self.initrdURL.size() > 0)",message="initrdURL is required unless ipxeScriptSecretRef is set",fieldPath=".initrdURL",reason=FieldValueRequired
type IPXEBootConfigSpec struct {
	// SystemUUID is the UUID of the machine.
	// +optional
	SystemUUID string `json:"systemUUID,omitempty"`

	// SystemIPs are addresses of the machine.
	// +optional
	SystemIPs []string `json:"systemIPs,omitempty"`

	// Image is accepted and ignored.
	// +optional
	Image string `json:"image,omitempty"`

	// KernelURL is where the kernel is.
	// +optional
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	KernelURL string `json:"kernelURL,omitempty"`

	// InitrdURL is where the initial RAM disk is.
	// +optional
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	InitrdURL string `json:"initrdURL,omitempty"`

	// SquashfsURL is where the root file system is.
	// +optional
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	SquashfsURL string `json:"squashfsURL,omitempty"`

	// IPXEServerURL is accepted and ignored.
	// +optional
	IPXEServerURL string `json:"ipxeServerURL,omitempty"`

	// IgnitionSecretRef names the Secret with the ignition of the machine.
	// +optional
	IgnitionSecretRef *LocalObjectReference `json:"ignitionSecretRef,omitempty"`

	// IPXEScriptSecretRef names the Secret with a script that is sent in place of the default one.
	// +optional
	IPXEScriptSecretRef *LocalObjectReference `json:"ipxeScriptSecretRef,omitempty"`
}

// IPXEBootConfigStatus says whether a machine can boot a configuration.
type IPXEBootConfigStatus struct {
	// ObservedGeneration is the generation that this status is about. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State of the configuration.
	// +optional
	State IPXEBootConfigState `json:"state,omitempty"`

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

// IPXEBootConfig is what a machine boots by iPXE.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type IPXEBootConfig struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec IPXEBootConfigSpec `json:"spec,omitempty"`
	// +optional
	Status IPXEBootConfigStatus `json:"status,omitempty"`
}

// IPXEBootConfigList is a list of IPXEBootConfigs.
// +kubebuilder:object:root=true
type IPXEBootConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IPXEBootConfig `json:"items"`
}
