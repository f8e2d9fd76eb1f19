package v1alpha1

import "testing"

func TestOperationOf(t *testing.T) {
	for value, want := range map[string]struct {
		operation string
		ignored   bool
	}{
		OperationIgnore:                          {OperationIgnore, true},
		OperationIgnorePropagated:                {OperationIgnorePropagated, true},
		OperationPark:                            {OperationPark, false},
		"":                                       {"", false},
		"dance":                                  {"dance", false},
		"ignore-reconciliation":                  {OperationIgnore, true},
		"ignore-reconciliation-propagated":       {OperationIgnorePropagated, true},
		"ignore-child-reconciliation":            {OperationIgnoreChild, false},
		"ignore-child-and-self-reconciliation":   {OperationIgnoreChildAndSelf, false},
		"retry-failed-state-resource":            {OperationRetry, false},
		"retry-failed-state-resource-propagated": {OperationRetryPropagated, false},
		"retry-child-reconciliation":             {OperationRetryChild, false},
		"retry-child-and-self-reconciliation":    {OperationRetryChildAndSelf, false},
		"force-ssh-reset-bmc":                    {OperationForceRestartBMC, false},
	} {
		server := &Server{}
		server.Annotations = map[string]string{AnnotationOperation: value}
		if operation, asked := OperationOf(server); !asked || operation != want.operation {
			t.Errorf("%q: %q, %v; want %q", value, operation, asked, want.operation)
		}
		if IsIgnored(server) != want.ignored {
			t.Errorf("%q: ignored %v, want %v", value, !want.ignored, want.ignored)
		}
	}
	if operation, asked := OperationOf(&Server{}); asked || operation != "" || IsIgnored(&Server{}) {
		t.Errorf("without the annotation: %q, %v", operation, asked)
	}
}
