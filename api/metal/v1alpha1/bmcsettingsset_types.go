package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BMCSettingsSetSpec defines settings of a BMC itself, and the BMCs that should have them.
type BMCSettingsSetSpec struct {
	// BMCSelector selects the BMCs by their labels. Each gets BMCSettings of its own. An empty selector selects all BMCs.
	BMCSelector metav1.LabelSelector `json:"bmcSelector"`

	// BMCSettingsTemplate is what the BMCSettings ask for.
	BMCSettingsTemplate BMCSettingsTemplate `json:"bmcSettingsTemplate"`
}

// BMCSettingsSetStatus counts BMCs and their BMCSettings. Farrier writes it.
type BMCSettingsSetStatus struct {
	// FullyLabeledBMCs is the number of BMCs that the selector selects.
	// +optional
	FullyLabeledBMCs int32 `json:"fullyLabeledBMCs,omitempty"`

	// AvailableBMCSettings is the number of BMCSettings that the set has made and that exist.
	// +optional
	AvailableBMCSettings int32 `json:"availableBMCSettings,omitempty"`

	// PendingBMCSettings is the number of those that wait.
	// +optional
	PendingBMCSettings int32 `json:"pendingBMCSettings,omitempty"`

	// InProgressBMCSettings is the number of those that are being applied.
	// +optional
	InProgressBMCSettings int32 `json:"inProgressBMCSettings,omitempty"`

	// CompletedBMCSettings is the number of those whose BMC has them.
	// +optional
	CompletedBMCSettings int32 `json:"completedBMCSettings,omitempty"`

	// FailedBMCSettings is the number of those that have failed.
	// +optional
	FailedBMCSettings int32 `json:"failedBMCSettings,omitempty"`

	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say what the set waits for. Added by Farrier.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BMCSettingsSet makes BMCSettings for each BMC that it selects, and keeps them as its template says.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bmcsettingssets,scope=Cluster
// +kubebuilder:printcolumn:name="BMCVersion",type=string,JSONPath=`.spec.bmcSettingsTemplate.version`
// +kubebuilder:printcolumn:name="TotalBMCs",type=integer,JSONPath=`.status.fullyLabeledBMCs`
// +kubebuilder:printcolumn:name="AvailableBMCSettings",type=integer,JSONPath=`.status.availableBMCSettings`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.pendingBMCSettings`
// +kubebuilder:printcolumn:name="InProgress",type=integer,JSONPath=`.status.inProgressBMCSettings`
// +kubebuilder:printcolumn:name="Completed",type=integer,JSONPath=`.status.completedBMCSettings`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failedBMCSettings`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type BMCSettingsSet struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BMCSettingsSetSpec `json:"spec,omitempty"`
	// +optional
	Status BMCSettingsSetStatus `json:"status,omitempty"`
}

// BMCSettingsSetList is a list of BMCSettingsSets.
// +kubebuilder:object:root=true
type BMCSettingsSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BMCSettingsSet `json:"items"`
}

func init() { register(&BMCSettingsSet{}, &BMCSettingsSetList{}) }
