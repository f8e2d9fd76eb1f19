package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ServerClaimPhase says whether a claim has a server.
type ServerClaimPhase string

const (
	// ServerClaimPhaseBound means that the claim has a server.
	ServerClaimPhaseBound ServerClaimPhase = "Bound"
	// ServerClaimPhaseUnbound means that it has none; the condition Bound says why.
	ServerClaimPhaseUnbound ServerClaimPhase = "Unbound"
)

// UserDataSecretType is the type of the Secret that ServerClaim.spec.userDataRef must name.
const UserDataSecretType = "metal.ironcore.dev/user-data"

// ServerClaimSpec says which server is wanted and what it should run.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.serverRef) || has(self.serverRef)",message="serverRef is required once set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.serverSelector) || has(self.serverSelector)",message="serverSelector is required once set"
type ServerClaimSpec struct {
	// Power is the wanted power state of the server.
	Power Power `json:"power"`

	// ServerRef names the server that is wanted. It is filled in when the claim binds, and fixed once set.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef is immutable"
	ServerRef *LocalObjectReference `json:"serverRef,omitempty"`

	// ServerSelector selects among servers by their labels. Fixed once set.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverSelector is immutable"
	ServerSelector *metav1.LabelSelector `json:"serverSelector,omitempty"`

	// IgnitionSecretRef names the Secret with the ignition of the server.
	// +optional
	IgnitionSecretRef *LocalObjectReference `json:"ignitionSecretRef,omitempty"`

	// UserDataRef names the Secret of type metal.ironcore.dev/user-data that the metadata service exports.
	// +optional
	UserDataRef *LocalObjectReference `json:"userDataRef,omitempty"`

	// Image is the OCI image that the server boots.
	Image string `json:"image"`

	// Tolerations let the claim bind to servers in spite of their taints.
	// +optional
	Tolerations []Toleration `json:"tolerations,omitempty"`
}

// ServerClaimStatus says what became of a claim.
type ServerClaimStatus struct {
	// ObservedGeneration is the generation that this status is about. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Phase says whether the claim has a server.
	// +optional
	Phase ServerClaimPhase `json:"phase,omitempty"`

	// Conditions explain the phase. Added by Farrier.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ServerClaim asks for a server.
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
