package system

import (
	"strings"

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
		finalizers[i] = word(finalizers[i])
	}
	owners := m.GetOwnerReferences()
	for i := range owners {
		owners[i].APIVersion, owners[i].Kind = word(owners[i].APIVersion), word(owners[i].Kind)
	}
}

func shared(all map[string]string) map[string]string {
	if len(all) == 0 {
		return all
	}
	words := make(map[string]string, len(all))
	for key, value := range all {
		words[word(key)] = value
	}
	return words
}

func shareConditions(conditions []metav1.Condition) {
	for i := range conditions {
		c := &conditions[i]
		c.Type, c.Reason, c.Message, c.Status = word(c.Type), word(c.Reason), word(c.Message), metav1.ConditionStatus(word(string(c.Status)))
	}
}

// words are those that were met last, with the one copy of each. Package unique forgets a word at the next collection, though the word is in
// use: it knows of handles alone, which would be kept beside each string.
var words = bounded.NewCache[string, string](4096)

// word is the one copy of a string that objects share.
func word(s string) string {
	if kept, ok := words.Get(s); ok {
		return kept
	}
	kept := strings.Clone(s) // not a piece of what was decoded
	words.Add(kept, kept)
	return kept
}
