package bootconfig

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Another boot provider tells by state alone, or by conditions of its own.
func TestProblem(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Message: message}
	}
	const pending, failed = metalv1.ServerBootConfigurationStatePending, metalv1.ServerBootConfigurationStateError
	for name, tc := range map[string]struct {
		state      metalv1.ServerBootConfigurationState
		conditions []metav1.Condition
		want       string
	}{
		"new":                {"", nil, "The boot configuration is not ready yet"},
		"pending":            {pending, []metav1.Condition{condition("Seen", "False", "not yet")}, "The boot configuration is not ready yet"},
		"ours":               {failed, []metav1.Condition{condition("Seen", "False", "x"), condition(metalv1.ConditionReady, "False", "no such image")}, "no such image"},
		"theirs":             {failed, []metav1.Condition{condition("ImageValidation", "False", "registry not allowed"), condition("Other", "True", "fine")}, "Its state is Error: ImageValidation: registry not allowed"},
		"theirs, and silent": {failed, nil, "Its state is Error, and the boot provider gives no reason"},
	} {
		config := &metalv1.ServerBootConfiguration{}
		config.Status.State, config.Status.Conditions = tc.state, tc.conditions
		if got := Problem(config); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
