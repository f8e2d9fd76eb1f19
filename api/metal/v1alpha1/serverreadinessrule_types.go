package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReadinessEnforcementMode says for how long a readiness rule holds.
// +kubebuilder:validation:Enum=BootstrapOnly;Continuous
type ReadinessEnforcementMode string

const (
	// ReadinessEnforcementModeBootstrapOnly ends with the first time that the conditions hold.
	ReadinessEnforcementModeBootstrapOnly ReadinessEnforcementMode = "BootstrapOnly"
	// ReadinessEnforcementModeContinuous taints the server whenever the conditions do not hold.
	ReadinessEnforcementModeContinuous ReadinessEnforcementMode = "Continuous"
)

// ReadinessCondition is a condition that a server must have.
type ReadinessCondition struct {
	// Type of the condition of the Server. One that the Server does not have is Unknown.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Type string `json:"type"`

	// RequiredStatus is the status that it must have.
	// +kubebuilder:validation:Enum=True;False;Unknown
	RequiredStatus metav1.ConditionStatus `json:"requiredStatus"`
}

// ServerReadinessRuleSpec says which servers are tainted until which conditions hold.
type ServerReadinessRuleSpec struct {
	// Conditions that all have to hold.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="conditions is immutable"
	// +listType=map
	// +listMapKey=type
	Conditions []ReadinessCondition `json:"conditions"`

	// EnforcementMode says for how long the rule holds.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="enforcementMode is immutable"
	EnforcementMode ReadinessEnforcementMode `json:"enforcementMode"`

	// Taint that a server carries while the conditions do not hold.
	// +kubebuilder:validation:XValidation:rule="self.key.size() <= 253",message="taint key length must be at most 253 characters"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.key) || self.key == oldSelf.key",message="taint key is immutable"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.effect) || self.effect == oldSelf.effect",message="taint effect is immutable"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.value) || self.value == oldSelf.value",message="taint value is immutable"
	Taint Taint `json:"taint"`

	// ServerSelector selects the servers that the rule is about.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverSelector is immutable"
	ServerSelector metav1.LabelSelector `json:"serverSelector"`
}

// ServerReadinessRuleStatus says how a rule is doing.
type ServerReadinessRuleStatus struct {
	// ObservedGeneration is the generation that this status is about. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions explain the rule.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ServerReadinessRule taints servers until they have the conditions that it asks for.
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

// AnnotationReadinessTaints holds, on a Server, the taints that readiness rules have put on it: a comma
// list of key=effect. Only those are taken away when a rule is no longer about the server. Added by Farrier.
const AnnotationReadinessTaints = "farrier.dev/readiness-taints"
