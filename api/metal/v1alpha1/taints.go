package v1alpha1

// TaintNotClean marks a Server that could not be cleaned: its state is Error. The effect is NoBind. The operation retry removes
// it.
const TaintNotClean = "farrier.dev/not-clean"

// TaintEffect is what a taint does to a claim that does not tolerate it.
// +kubebuilder:validation:Enum=NoBind;Evict
type TaintEffect string

const (
	// TaintEffectNoBind keeps a claim from getting the server.
	TaintEffectNoBind TaintEffect = "NoBind"
	// TaintEffectEvict is accepted for existing manifests and has no effect.
	TaintEffectEvict TaintEffect = "Evict"
)

// Taint keeps away the claims that do not tolerate it.
type Taint struct {
	// Key of the taint.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`

	// Value of the taint.
	// +optional
	Value string `json:"value,omitempty"`

	// Effect of the taint on a claim that does not tolerate it. NoBind, the default, keeps the claim from getting the server.
	// Evict has no effect.
	// +optional
	// +kubebuilder:default=NoBind
	Effect TaintEffect `json:"effect,omitempty"`
}

// TolerationOperator is how a toleration compares the value of a taint.
// +kubebuilder:validation:Enum=Equal;Exists
type TolerationOperator string

const (
	// TolerationOpEqual requires equal values. An empty operator means the same.
	TolerationOpEqual TolerationOperator = "Equal"
	// TolerationOpExists ignores the value.
	TolerationOpExists TolerationOperator = "Exists"
)

// Toleration lets a claim get a server in spite of a taint.
type Toleration struct {
	// Key of the tolerated taint.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`

	// Operator compares the values: Equal, the default, or Exists, which ignores the value.
	// +optional
	Operator TolerationOperator `json:"operator,omitempty"`

	// Value of the tolerated taint.
	// +optional
	Value string `json:"value,omitempty"`

	// Effect of the tolerated taint. The default is every effect.
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
