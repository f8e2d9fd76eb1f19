package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReadinessEnforcementMode tells how long a readiness rule applies.
// +kubebuilder:validation:Enum=BootstrapOnly;Continuous
type ReadinessEnforcementMode string

const (
	// ReadinessEnforcementModeBootstrapOnly applies the rule until a server has all conditions for the first time.
	ReadinessEnforcementModeBootstrapOnly ReadinessEnforcementMode = "BootstrapOnly"
	// ReadinessEnforcementModeContinuous taints a server whenever it lacks a condition.
	ReadinessEnforcementModeContinuous ReadinessEnforcementMode = "Continuous"
)

// ReadinessCondition is a condition that a server must have.
type ReadinessCondition struct {
	// Type of the condition. A condition that a Server does not have counts as Unknown.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Type string `json:"type"`

	// RequiredStatus is the status that the condition must have: True, False or Unknown.
	// +kubebuilder:validation:Enum=True;False;Unknown
	RequiredStatus metav1.ConditionStatus `json:"requiredStatus"`
}

// ServerReadinessRuleSpec defines which conditions servers need before claims get them.
type ServerReadinessRuleSpec struct {
	// Conditions that a server must have, all of them. The list cannot be changed.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="conditions is immutable"
	// +listType=map
	// +listMapKey=type
	Conditions []ReadinessCondition `json:"conditions"`

	// EnforcementMode tells how long the rule applies: BootstrapOnly, until a server has all conditions for the first time, or
	// Continuous. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="enforcementMode is immutable"
	EnforcementMode ReadinessEnforcementMode `json:"enforcementMode"`

	// Taint that Farrier puts on a server while it lacks a condition. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self.key.size() <= 253",message="taint key length must be at most 253 characters"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.key) || self.key == oldSelf.key",message="taint key is immutable"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.effect) || self.effect == oldSelf.effect",message="taint effect is immutable"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.value) || self.value == oldSelf.value",message="taint value is immutable"
	Taint Taint `json:"taint"`

	// ServerSelector selects the servers that the rule applies to by their labels. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverSelector is immutable"
	ServerSelector metav1.LabelSelector `json:"serverSelector"`
}

// ServerReadinessRuleStatus reports whether the rule is applied. Farrier writes it.
type ServerReadinessRuleStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions report whether the rule is applied.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ServerReadinessRule taints servers until they have the conditions that it lists.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
type ServerReadinessRule struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ServerReadinessRuleSpec `json:"spec"`
	// +optional
	Status ServerReadinessRuleStatus `json:"status,omitempty"`
}

// ServerReadinessRuleList is a list of ServerReadinessRules.
// +kubebuilder:object:root=true
type ServerReadinessRuleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServerReadinessRule `json:"items"`
}

// AnnotationReadinessTaints, on a Server, lists the taints that readiness rules have put on it, as key=effect separated by
// commas. Farrier removes only those when a rule no longer applies to the server. Added by Farrier.
const AnnotationReadinessTaints = "farrier.dev/readiness-taints"

func init() { register(&ServerReadinessRule{}, &ServerReadinessRuleList{}) }
