package v1alpha1

// LocalObjectReference names a cluster-scoped object or an object in the namespace of the referring object. Its JSON is that of
// the core type of the same name.
// +structType=atomic
type LocalObjectReference struct {
	// Name of the referenced object.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	Name string `json:"name,omitempty"`
}

// ObjectReference names an object in a namespace.
type ObjectReference struct {
	// Namespace of the referenced object.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Namespace string `json:"namespace"`

	// Name of the referenced object.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	Name string `json:"name"`
}

// ImmutableObjectReference names an object in a namespace. It can be set and removed, but not changed to name another object.
type ImmutableObjectReference struct {
	// Namespace of the referenced object.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	Namespace string `json:"namespace"`

	// Name of the referenced object.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	Name string `json:"name"`
}
