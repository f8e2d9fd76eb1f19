package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AssignmentSpec says which machines get which Profile. Without a subject selector it is
// the default for machines that nothing else matches.
// +kubebuilder:validation:XValidation:rule="!(has(self.subjectSelector) && has(self.subjectSelectors))",message="at most one of subjectSelector or subjectSelectors can be set"
// +kubebuilder:validation:XValidation:rule="has(self.profileSelectors) != has(self.profileName)",message="exactly one of profileSelectors or profileName needs to be set"
type AssignmentSpec struct {
	// SubjectSelector selects machines by the labels they report: all pairs are equal.
	// +optional
	SubjectSelector map[string]string `json:"subjectSelector,omitempty"`

	// SubjectSelectors selects machines by the labels they report: each has one of the
	// values. Added by Farrier.
	// +optional
	SubjectSelectors map[string][]string `json:"subjectSelectors,omitempty"`

	// ProfileSelectors selects the Profile by its labels, in the namespace of the Assignment.
	// +optional
	ProfileSelectors map[string]string `json:"profileSelectors,omitempty"`

	// ProfileName names the Profile, in place of a selector. Added by Farrier.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	ProfileName string `json:"profileName,omitempty"`

	// IsDefault is how later versions of this API say that an Assignment is for the machines of its architectures that no other one is
	// for; what else it selects by does not count then. Where it is set, true or false, a label without values selects nothing
	// and is left out, and an Assignment that is no default and selects by nothing is for no machine.
	// +optional
	IsDefault *bool `json:"isDefault,omitempty"`

	// Priority among assignments that match by keys of the same class, higher first. Added by Farrier.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`
}

// AssignmentStatus says what became of an Assignment.
type AssignmentStatus struct {
	// ObservedGeneration is the generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions explain the status.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Assignment gives machines a Profile.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Programmed",type=string,JSONPath=`.status.conditions[?(@.type=="Programmed")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type Assignment struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec AssignmentSpec `json:"spec,omitempty"`
	// +optional
	Status AssignmentStatus `json:"status,omitempty"`
}

// AssignmentList is a list of Assignments.
// +kubebuilder:object:root=true
type AssignmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Assignment `json:"items"`
}
