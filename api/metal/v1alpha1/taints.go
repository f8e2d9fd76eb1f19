package v1alpha1

// TaintNotClean marks a Server that could not be made clean. It carries the effect NoBind
// and means the state Error; the operation retry removes it.
const TaintNotClean = "farrier.dev/not-clean"

// TaintEffect says what a taint does to a claim that does not tolerate it.
// +kubebuilder:validation:Enum=NoBind;Evict
type TaintEffect string

const (
	// TaintEffectNoBind keeps a claim from binding.
	TaintEffectNoBind TaintEffect = "NoBind"
	// TaintEffectEvict is accepted and has no effect.
	TaintEffectEvict TaintEffect = "Evict"
)

// Taint keeps claims away that do not tolerate it.
type Taint struct {
	// Key of the taint.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`

	// Value of the taint.
	// +optional
	Value string `json:"value,omitempty"`

	// Effect of the taint.
	// +optional
	// +kubebuilder:default=NoBind
	Effect TaintEffect `json:"effect,omitempty"`
}

// TolerationOperator says how a toleration compares the value of a taint.
// +kubebuilder:validation:Enum=Equal;Exists
type TolerationOperator string

const (
	// TolerationOpEqual wants the values to be equal; an empty operator means the same.
	TolerationOpEqual TolerationOperator = "Equal"
	// TolerationOpExists ignores the value.
	TolerationOpExists TolerationOperator = "Exists"
)

// Toleration lets a claim bind to a server in spite of a taint.
type Toleration struct {
	// Key of the taint that is tolerated.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`

	// Operator says how values are compared.
	// +optional
	Operator TolerationOperator `json:"operator,omitempty"`

	// Value of the taint that is tolerated.
	// +optional
	Value string `json:"value,omitempty"`

	// Effect that is tolerated; empty means every effect.
	// +optional
	Effect TaintEffect `json:"effect,omitempty"`
}

// Tolerates reports whether the toleration covers the taint: the keys are equal, the effect
// is empty or equal, and the values are equal unless the operator is Exists.
func (t Toleration) Tolerates(taint Taint) bool {
	effect := taint.Effect
	if effect == "" {
		effect = TaintEffectNoBind
	}
	if t.Key != taint.Key || (t.Effect != "" && t.Effect != effect) {
		return false
	}
	switch t.Operator {
	case TolerationOpExists:
		return true
	case TolerationOpEqual, "":
		return t.Value == taint.Value
	default:
		return false
	}
}
