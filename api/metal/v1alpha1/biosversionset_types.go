package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BIOSVersionSetSpec defines a version of a BIOS, and the Servers that should have it.
type BIOSVersionSetSpec struct {
	// ServerSelector selects the Servers by their labels. Each gets a BIOSVersion of its own. An empty selector selects all Servers.
	ServerSelector metav1.LabelSelector `json:"serverSelector"`

	// BIOSVersionTemplate is what the BIOSVersions ask for.
	// +optional
	BIOSVersionTemplate BIOSVersionTemplate `json:"biosVersionTemplate,omitempty"`
}

// BIOSVersionSetStatus counts Servers and their BIOSVersions. Farrier writes it.
type BIOSVersionSetStatus struct {
	// FullyLabeledServers is the number of Servers that the selector selects.
	// +optional
	FullyLabeledServers int32 `json:"fullyLabeledServers,omitempty"`

	// AvailableBIOSVersion is the number of BIOSVersions that the set has made and that exist.
	// +optional
	AvailableBIOSVersion int32 `json:"availableBIOSVersion,omitempty"`

	// PendingBIOSVersion is the number of those that wait.
	// +optional
	PendingBIOSVersion int32 `json:"pendingBIOSVersion,omitempty"`

	// InProgressBIOSVersion is the number of those whose update is under way.
	// +optional
	InProgressBIOSVersion int32 `json:"inProgressBIOSVersion,omitempty"`

	// CompletedBIOSVersion is the number of those whose firmware has the version.
	// +optional
	CompletedBIOSVersion int32 `json:"completedBIOSVersion,omitempty"`

	// FailedBIOSVersion is the number of those that have failed.
	// +optional
	FailedBIOSVersion int32 `json:"failedBIOSVersion,omitempty"`

	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say what the set waits for. Added by Farrier.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BIOSVersionSet makes a BIOSVersion for each Server that it selects, and keeps it as its template says.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=biosversionsets,scope=Cluster,shortName=biosvs
// +kubebuilder:printcolumn:name="BIOSVersion",type=string,JSONPath=`.spec.biosVersionTemplate.version`
// +kubebuilder:printcolumn:name="selectedServers",type=integer,JSONPath=`.status.fullyLabeledServers`
// +kubebuilder:printcolumn:name="AvailableBIOSVersion",type=integer,JSONPath=`.status.availableBIOSVersion`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.pendingBIOSVersion`
// +kubebuilder:printcolumn:name="InProgress",type=integer,JSONPath=`.status.inProgressBIOSVersion`
// +kubebuilder:printcolumn:name="Completed",type=integer,JSONPath=`.status.completedBIOSVersion`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failedBIOSVersion`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type BIOSVersionSet struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BIOSVersionSetSpec `json:"spec,omitempty"`
	// +optional
	Status BIOSVersionSetStatus `json:"status,omitempty"`
}

// BIOSVersionSetList is a list of BIOSVersionSets.
// +kubebuilder:object:root=true
type BIOSVersionSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BIOSVersionSet `json:"items"`
}

func init() { register(&BIOSVersionSet{}, &BIOSVersionSetList{}) }
