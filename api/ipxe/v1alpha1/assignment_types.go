package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AssignmentSpec defines which machines get which Profile. An Assignment that selects by no label is the default for machines
// that no other Assignment matches.
// +kubebuilder:validation:XValidation:rule="!(has(self.subjectSelector) && has(self.subjectSelectors))",message="at most one of subjectSelector or subjectSelectors can be set"
// +kubebuilder:validation:XValidation:rule="has(self.profileSelectors) != has(self.profileName)",message="exactly one of profileSelectors or profileName needs to be set"
type AssignmentSpec struct {
	// SubjectSelector selects machines by the labels they report. A machine matches if it reports every label with exactly this
	// value. At most one of subjectSelector and subjectSelectors can be set.
	// +optional
	SubjectSelector map[string]string `json:"subjectSelector,omitempty"`

	// SubjectSelectors selects machines by the labels they report. A machine matches if it reports every label with one of the
	// listed values. Added by Farrier.
	// +optional
	SubjectSelectors map[string][]string `json:"subjectSelectors,omitempty"`

	// ProfileSelectors selects the Profile by its labels, in the namespace of the Assignment. Exactly one of profileSelectors and
	// profileName must be set.
	// +optional
	ProfileSelectors map[string]string `json:"profileSelectors,omitempty"`

	// ProfileName names the Profile, in the namespace of the Assignment. Added by Farrier.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	ProfileName string `json:"profileName,omitempty"`

	// IsDefault, if true, makes this Assignment the default for machines that no other Assignment matches; of the selected labels
	// only the architecture (buildarch) counts then. If it is false, an Assignment that selects by nothing matches no machine. If
	// it is true or false, a label without values is left out of the selection. Later versions of this API define the field.
	// +optional
	IsDefault *bool `json:"isDefault,omitempty"`

	// Priority decides between Assignments that match a machine by keys of the same class: the higher number wins. The default is
	// 0. Added by Farrier.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`
}

// AssignmentStatus reports whether machines get the Profile of an Assignment. Farrier writes it.
type AssignmentStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions report whether the Assignment is accepted, found its Profile, conflicts with another Assignment, and is served.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Assignment gives the machines it selects a Profile.
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

func init() { register(&Assignment{}, &AssignmentList{}) }
