package system

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

// compact is what every object goes through on its way into a cache, of which there is one for each of ten thousand
// BMCs, Servers and records:
//
//   - who manages which field is nobody's business here, and half of an object;
//   - a decoder grows lists by doubling them; a copy has the length it needs;
//   - words that all objects have in common, such as those of conditions, are kept once.
func compact(object any) (any, error) {
	o, ok := object.(runtime.Object)
	if !ok {
		return object, nil // a tombstone of the informer's
	}
	if m, err := meta.Accessor(o); err == nil {
		m.SetManagedFields(nil)
	}
	o = o.DeepCopyObject()
	if m, err := meta.Accessor(o); err == nil {
		share(m)
	}
	switch o := o.(type) {
	case *metalv1.BMC:
		shareConditions(o.Status.Conditions)
	case *metalv1.Server:
		shareConditions(o.Status.Conditions)
	}
	return o, nil
}

// share keeps once what the metadata of objects has in common.
func share(m metav1.Object) {
	m.SetLabels(shared(m.GetLabels()))
	finalizers := m.GetFinalizers()
	for i := range finalizers {
		finalizers[i] = words.Once(finalizers[i])
	}
	owners := m.GetOwnerReferences()
	for i := range owners {
		owners[i].APIVersion, owners[i].Kind = words.Once(owners[i].APIVersion), words.Once(owners[i].Kind)
	}
}

func shared(all map[string]string) map[string]string {
	if len(all) == 0 {
		return all
	}
	once := make(map[string]string, len(all))
	for key, value := range all {
		once[words.Once(key)] = value
	}
	return once
}

func shareConditions(conditions []metav1.Condition) {
	for i := range conditions {
		c := &conditions[i]
		c.Type, c.Reason, c.Message, c.Status = words.Once(c.Type), words.Once(c.Reason), words.Once(c.Message), metav1.ConditionStatus(words.Once(string(c.Status)))
	}
}

// words are those that objects share.
var words = bounded.NewWords(4096)
