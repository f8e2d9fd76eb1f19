package v1alpha1

import "testing"

func TestTolerates(t *testing.T) {
	taint := Taint{Key: "a", Value: "1", Effect: TaintEffectNoBind}
	for _, c := range []struct {
		name       string
		toleration Toleration
		taint      Taint
		want       bool
	}{
		{"equal", Toleration{Key: "a", Value: "1", Operator: TolerationOpEqual, Effect: TaintEffectNoBind}, taint, true},
		{"empty operator compares the value", Toleration{Key: "a", Value: "1"}, taint, true},
		{"empty operator and another value", Toleration{Key: "a", Value: "2"}, taint, false},
		{"exists ignores the value", Toleration{Key: "a", Value: "2", Operator: TolerationOpExists}, taint, true},
		{"another key", Toleration{Key: "b", Operator: TolerationOpExists}, taint, false},
		{"another effect", Toleration{Key: "a", Operator: TolerationOpExists, Effect: TaintEffectEvict}, taint, false},
		{"empty effect of the taint is NoBind", Toleration{Key: "a", Effect: TaintEffectNoBind}, Taint{Key: "a"}, true},
		{"an operator that is none", Toleration{Key: "a", Value: "1", Operator: "In"}, taint, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.toleration.Tolerates(c.taint); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
