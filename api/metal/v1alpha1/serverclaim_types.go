package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ServerClaimPhase tells whether a claim has a server.
type ServerClaimPhase string

const (
	// ServerClaimPhaseBound means that the claim has a server.
	ServerClaimPhaseBound ServerClaimPhase = "Bound"
	// ServerClaimPhaseUnbound means that the claim has no server; the condition Bound gives the reason.
	ServerClaimPhaseUnbound ServerClaimPhase = "Unbound"
)

// UserDataSecretType is the type of the Secret that spec.userDataRef of a ServerClaim must name.
const UserDataSecretType = "metal.ironcore.dev/user-data"

// ServerClaimSpec defines which server a claim asks for and what the server runs.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.serverRef) || has(self.serverRef)",message="serverRef is required once set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.serverSelector) || has(self.serverSelector)",message="serverSelector is required once set"
type ServerClaimSpec struct {
	// Power is the power state that the server should have: On or Off.
	Power Power `json:"power"`

	// ServerRef names the server that the claim asks for. If it is empty, Farrier sets it when it binds the claim. It cannot be
	// changed once it is set.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef is immutable"
	ServerRef *LocalObjectReference `json:"serverRef,omitempty"`

	// ServerSelector selects the servers that the claim asks for by their labels. The default is any server. It cannot be changed
	// once it is set.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverSelector is immutable"
	ServerSelector *metav1.LabelSelector `json:"serverSelector,omitempty"`

	// IgnitionSecretRef names the Secret that holds the server's ignition, in the namespace of the claim.
	// +optional
	IgnitionSecretRef *LocalObjectReference `json:"ignitionSecretRef,omitempty"`

	// UserDataRef names the Secret that the metadata service gives to the server, in the namespace of the claim. Its type must be
	// metal.ironcore.dev/user-data.
	// +optional
	UserDataRef *LocalObjectReference `json:"userDataRef,omitempty"`

	// Image is the reference of the OCI image that the server boots, such as ghcr.io/org/os:1.0.
	Image string `json:"image"`

	// Tolerations let the claim get a server in spite of its taints.
	// +optional
	Tolerations []Toleration `json:"tolerations,omitempty"`
}

// ServerClaimStatus reports whether the claim has a server. Farrier writes it.
type ServerClaimStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Phase is Bound if the claim has a server, and Unbound if it has none.
	// +optional
	Phase ServerClaimPhase `json:"phase,omitempty"`

	// Conditions give the reasons for the phase. Added by Farrier.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ServerClaim asks for a server that boots a given image.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=scl
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.serverRef.name`
// +kubebuilder:printcolumn:name="Ignition",type=string,JSONPath=`.spec.ignitionSecretRef.name`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type ServerClaim struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ServerClaimSpec `json:"spec,omitempty"`
	// +optional
	Status ServerClaimStatus `json:"status,omitempty"`
}

// ServerClaimList is a list of ServerClaims.
// +kubebuilder:object:root=true
type ServerClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServerClaim `json:"items"`
}

func init() { register(&ServerClaim{}, &ServerClaimList{}) }
