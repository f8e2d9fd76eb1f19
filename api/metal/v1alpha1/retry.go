package v1alpha1

// RetryPolicy limits how often a failed attempt is repeated automatically.
type RetryPolicy struct {
	// MaxAttempts is the number of further attempts after the first one has failed. The default is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	MaxAttempts *int32 `json:"maxAttempts,omitempty"`
}
