package ipxeapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
)

// news passes changes of spec, and objects whose conditions are gone: a CRD of another version of these kinds
// drops them.
func news() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return len(conditionsOf(e.ObjectNew)) == 0 },
	})
}

func conditionsOf(object any) []metav1.Condition {
	switch o := object.(type) {
	case *ipxev1.Assignment:
		return o.Status.Conditions
	case *ipxev1.Profile:
		return o.Status.Conditions
	}
	return nil
}
