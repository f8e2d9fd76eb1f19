package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BMCVersionSetSpec defines a version of the firmware of a BMC, and the BMCs that should have it.
type BMCVersionSetSpec struct {
	// BMCSelector selects the BMCs by their labels. Each gets a BMCVersion of its own. An empty selector selects all BMCs.
	BMCSelector metav1.LabelSelector `json:"bmcSelector"`

	// BMCVersionTemplate is what the BMCVersions ask for.
	// +optional
	BMCVersionTemplate BMCVersionTemplate `json:"bmcVersionTemplate,omitempty"`
}

// BMCVersionSetStatus counts BMCs and their BMCVersions. Farrier writes it.
type BMCVersionSetStatus struct {
	// FullyLabeledBMCs is the number of BMCs that the selector selects.
	// +optional
	FullyLabeledBMCs int32 `json:"fullyLabeledBMCs,omitempty"`

	// AvailableBMCVersion is the number of BMCVersions that the set has made and that exist.
	// +optional
	AvailableBMCVersion int32 `json:"availableBMCVersion,omitempty"`

	// PendingBMCVersion is the number of those that wait.
	// +optional
	PendingBMCVersion int32 `json:"pendingBMCVersion,omitempty"`

	// InProgressBMCVersion is the number of those whose update is under way.
	// +optional
	InProgressBMCVersion int32 `json:"inProgressBMCVersion,omitempty"`

	// CompletedBMCVersion is the number of those whose firmware has the version.
	// +optional
	CompletedBMCVersion int32 `json:"completedBMCVersion,omitempty"`

	// FailedBMCVersion is the number of those that have failed.
	// +optional
	FailedBMCVersion int32 `json:"failedBMCVersion,omitempty"`

	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say what the set waits for. Added by Farrier.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BMCVersionSet makes a BMCVersion for each BMC that it selects, and keeps it as its template says.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bmcversionsets,scope=Cluster,shortName=bmcvs
// +kubebuilder:printcolumn:name="BMCVersion",type=string,JSONPath=`.spec.bmcVersionTemplate.version`
// +kubebuilder:printcolumn:name="selectedBMCs",type=integer,JSONPath=`.status.fullyLabeledBMCs`
// +kubebuilder:printcolumn:name="AvailableBMCVersion",type=integer,JSONPath=`.status.availableBMCVersion`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.pendingBMCVersion`
// +kubebuilder:printcolumn:name="InProgress",type=integer,JSONPath=`.status.inProgressBMCVersion`
// +kubebuilder:printcolumn:name="Completed",type=integer,JSONPath=`.status.completedBMCVersion`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failedBMCVersion`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type BMCVersionSet struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BMCVersionSetSpec `json:"spec,omitempty"`
	// +optional
	Status BMCVersionSetStatus `json:"status,omitempty"`
}

// BMCVersionSetList is a list of BMCVersionSets.
// +kubebuilder:object:root=true
type BMCVersionSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BMCVersionSet `json:"items"`
}

func init() { register(&BMCVersionSet{}, &BMCVersionSetList{}) }
