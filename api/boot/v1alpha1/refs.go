package v1alpha1

// LocalObjectReference names an object in the namespace of the referring object. Its JSON is
// that of the core type of the same name.
// +structType=atomic
type LocalObjectReference struct {
	// Name of the referent.
	// +optional
	// +kubebuilder:default=""
	Name string `json:"name,omitempty"`
}
