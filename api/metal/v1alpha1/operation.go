package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// formerOperations are values of AnnotationOperation under other names: those of metal-operator before v0.7, and the names that it and Farrier gave to
// the same thing.
var formerOperations = map[string]string{
	"ignore-reconciliation":                  OperationIgnore,
	"ignore-reconciliation-propagated":       OperationIgnorePropagated,
	"ignore-child-reconciliation":            OperationIgnoreChild,
	"ignore-child-and-self-reconciliation":   OperationIgnoreChildAndSelf,
	"retry-failed-state-resource":            OperationRetry,
	"retry-failed-state-resource-propagated": OperationRetryPropagated,
	"retry-child-reconciliation":             OperationRetryChild,
	"retry-child-and-self-reconciliation":    OperationRetryChildAndSelf,
	"force-ssh-reset-bmc":                    OperationForceRestartBMC,
}

// OperationOf returns the operation that AnnotationOperation of an object asks for, and whether it asks for any. It is one of the Operation constants,
// whichever name of it the annotation has; a value that is none of them it returns as it is.
func OperationOf(obj metav1.Object) (operation string, asked bool) {
	operation, asked = obj.GetAnnotations()[AnnotationOperation]
	if name, former := formerOperations[operation]; former {
		return name, asked
	}
	return operation, asked
}

// IsIgnored reports whether AnnotationOperation asks Farrier not to reconcile an object, by itself or for the set that it belongs to.
func IsIgnored(obj metav1.Object) bool {
	operation, _ := OperationOf(obj)
	return operation == OperationIgnore || operation == OperationIgnorePropagated
}
