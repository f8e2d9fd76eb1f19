package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IPXEBootConfigState tells whether a machine can boot an IPXEBootConfig.
// +kubebuilder:validation:Enum=Ready;Pending;Error
type IPXEBootConfigState string

const (
	// IPXEBootConfigStateReady means that the machine can boot the configuration.
	IPXEBootConfigStateReady IPXEBootConfigState = "Ready"
	// IPXEBootConfigStatePending means that something is still missing; the conditions name it.
	IPXEBootConfigStatePending IPXEBootConfigState = "Pending"
	// IPXEBootConfigStateError means that the configuration cannot be booted; the conditions give the reason.
	IPXEBootConfigStateError IPXEBootConfigState = "Error"
)

// IPXEBootConfigSpec defines which machine boots, and what it boots: a kernel and an initial RAM disk, or a script of your own.
// +kubebuilder:validation:XValidation:rule="(has(self.ipxeScriptSecretRef) && self.ipxeScriptSecretRef.name.size() > 0) || (has(self.kernelURL) && self.kernelURL.size() > 0)",message="kernelURL is required unless ipxeScriptSecretRef is set",fieldPath=".kernelURL",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="(has(self.ipxeScriptSecretRef) && self.ipxeScriptSecretRef.name.size() > 0) || (has(self.initrdURL) && self.initrdURL.size() > 0)",message="initrdURL is required unless ipxeScriptSecretRef is set",fieldPath=".initrdURL",reason=FieldValueRequired
type IPXEBootConfigSpec struct {
	// SystemUUID is the SMBIOS UUID of the machine. Give it, systemIPs, or both.
	// +optional
	SystemUUID string `json:"systemUUID,omitempty"`

	// SystemIPs are the IP addresses of the machine.
	// +optional
	SystemIPs []string `json:"systemIPs,omitempty"`

	// Image has no effect. Farrier accepts it for existing manifests.
	// +optional
	Image string `json:"image,omitempty"`

	// KernelURL is the URL of the kernel. It is required unless ipxeScriptSecretRef is set.
	// +optional
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	KernelURL string `json:"kernelURL,omitempty"`

	// InitrdURL is the URL of the initial RAM disk. It is required unless ipxeScriptSecretRef is set.
	// +optional
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	InitrdURL string `json:"initrdURL,omitempty"`

	// SquashfsURL is the URL of the root file system. If it is empty, the script names no root file system.
	// +optional
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	SquashfsURL string `json:"squashfsURL,omitempty"`

	// IPXEServerURL has no effect. Farrier accepts it for existing manifests.
	// +optional
	IPXEServerURL string `json:"ipxeServerURL,omitempty"`

	// IgnitionSecretRef names the Secret that holds the machine's ignition, in the namespace of this object.
	// +optional
	IgnitionSecretRef *LocalObjectReference `json:"ignitionSecretRef,omitempty"`

	// IPXEScriptSecretRef names the Secret that holds an iPXE script, in the namespace of this object. The machine gets that
	// script instead of the one that Farrier renders.
	// +optional
	IPXEScriptSecretRef *LocalObjectReference `json:"ipxeScriptSecretRef,omitempty"`
}

// IPXEBootConfigStatus reports whether a machine can boot the configuration. Farrier writes it.
type IPXEBootConfigStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State is Ready when the machine can boot the configuration, Pending while something is missing, and Error when it cannot be
	// booted.
	// +optional
	State IPXEBootConfigState `json:"state,omitempty"`

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

// IPXEBootConfig defines what one machine boots by iPXE. Farrier creates it from a ServerBootConfiguration; you can create one by
// hand for a machine that has no Server.
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

func init() { register(&IPXEBootConfig{}, &IPXEBootConfigList{}) }
