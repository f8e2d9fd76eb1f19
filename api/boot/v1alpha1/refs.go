package v1alpha1

// LocalObjectReference names an object in the namespace of the referring object. Its JSON is that of the core type of the same
// name.
// +structType=atomic
type LocalObjectReference struct {
	// Name of the referenced object.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	Name string `json:"name,omitempty"`
}
