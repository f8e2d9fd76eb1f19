package v1alpha1

// RetryPolicy bounds how often something that failed is tried again without a person.
type RetryPolicy struct {
	// MaxAttempts is the number of further attempts after the first one failed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	MaxAttempts *int32 `json:"maxAttempts,omitempty"`
}
