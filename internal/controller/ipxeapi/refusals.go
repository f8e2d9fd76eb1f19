package ipxeapi

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
)

// Boot servers without Kubernetes check what they are sent, and may be of another version than the manager. What one of them cannot use, its machines
// get as it was before. The object says so as long as that is so.

// Refusals is a sentence about the boot servers that cannot use an object; empty: all that are connected can.
type Refusals func(namespace, name string) string

// Refused has a profile looked at again: a boot server cannot use it, or can again. It does not block.
func (r *Profiles) Refused(namespace, name string) { r.wake.Wake(namespace, name) }

// Refused has an assignment looked at again: a boot server cannot use it, or can again. It does not block.
func (r *Assignments) Refused(namespace, name string) { r.wake.Wake(namespace, name) }

// describe says in conditions which boot servers cannot use an object, if there are any.
func (r Refusals) describe(object metav1.Object, conditions *[]metav1.Condition) {
	sentence := ""
	if r != nil {
		sentence = r(object.GetNamespace(), object.GetName())
	}
	if sentence == "" {
		apimeta.RemoveStatusCondition(conditions, ipxev1.ConditionBootServerReached)
		return
	}
	apimeta.SetStatusCondition(conditions, condition(ipxev1.ConditionBootServerReached, false, ipxev1.ReasonRefused, object.GetGeneration(), sentence))
}
