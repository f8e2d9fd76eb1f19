package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BIOSSettingsSetSpec defines BIOS settings, and the servers that should have them.
type BIOSSettingsSetSpec struct {
	// ServerSelector selects the Servers by their labels. Each gets BIOSSettings of its own. An empty selector selects all Servers.
	ServerSelector metav1.LabelSelector `json:"serverSelector"`

	// BIOSSettingsTemplate is what the BIOSSettings ask for.
	// +optional
	BIOSSettingsTemplate BIOSSettingsTemplate `json:"biosSettingsTemplate,omitempty"`
}

// BIOSSettingsSetStatus counts Servers and their BIOSSettings. Farrier writes it.
type BIOSSettingsSetStatus struct {
	// FullyLabeledServers is the number of Servers that the selector selects.
	// +optional
	FullyLabeledServers int32 `json:"fullyLabeledServers,omitempty"`

	// AvailableBIOSSettings is the number of BIOSSettings that the set has made and that exist.
	// +optional
	AvailableBIOSSettings int32 `json:"availableBIOSSettings,omitempty"`

	// PendingBIOSSettings is the number of those that wait.
	// +optional
	PendingBIOSSettings int32 `json:"pendingBIOSSettings,omitempty"`

	// InProgressBIOSSettings is the number of those that are being applied.
	// +optional
	InProgressBIOSSettings int32 `json:"inProgressBIOSSettings,omitempty"`

	// CompletedBIOSSettings is the number of those that are applied.
	// +optional
	CompletedBIOSSettings int32 `json:"completedBIOSSettings,omitempty"`

	// FailedBIOSSettings is the number of those that have failed.
	// +optional
	FailedBIOSSettings int32 `json:"failedBIOSSettings,omitempty"`

	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say what the set waits for. Added by Farrier.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BIOSSettingsSet makes BIOSSettings for each Server that it selects, and keeps them as its template says.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=biossettingssets,scope=Cluster,shortName=biosss
// +kubebuilder:printcolumn:name="BIOSVersion",type=string,JSONPath=`.spec.biosSettingsTemplate.version`
// +kubebuilder:printcolumn:name="TotalServers",type=string,JSONPath=`.status.fullyLabeledServers`
// +kubebuilder:printcolumn:name="AvailableBIOSSettings",type=string,JSONPath=`.status.availableBIOSSettings`
// +kubebuilder:printcolumn:name="Pending",type=string,JSONPath=`.status.pendingBIOSSettings`
// +kubebuilder:printcolumn:name="InProgress",type=string,JSONPath=`.status.inProgressBIOSSettings`
// +kubebuilder:printcolumn:name="Completed",type=string,JSONPath=`.status.completedBIOSSettings`
// +kubebuilder:printcolumn:name="Failed",type=string,JSONPath=`.status.failedBIOSSettings`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type BIOSSettingsSet struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BIOSSettingsSetSpec `json:"spec,omitempty"`
	// +optional
	Status BIOSSettingsSetStatus `json:"status,omitempty"`
}

// BIOSSettingsSetList is a list of BIOSSettingsSets.
// +kubebuilder:object:root=true
type BIOSSettingsSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BIOSSettingsSet `json:"items"`
}

func init() { register(&BIOSSettingsSet{}, &BIOSSettingsSetList{}) }
