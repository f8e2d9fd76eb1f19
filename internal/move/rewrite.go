package move

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
)

// uids are the UIDs of copies by those of their originals.
type uids map[types.UID]types.UID

// serverFields are the fields of metadata that each API fills in by itself.
var serverFields = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink",
}

// collecting are finalizers of the garbage collector, which puts them on by itself.
var collecting = []string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents}

// content is an object without what its API has filled in.
func content(o *object) map[string]any {
	c := runtime.DeepCopyJSON(o.Object)
	if metadata, ok := c["metadata"].(map[string]any); ok {
		for _, field := range serverFields {
			delete(metadata, field)
		}
	}
	return c
}

// wanted is what an object has to be at the target: the same under other UIDs, with the owners that move, and with its original's UID where it is not only
// copied. generation is that of the copy.
func wanted(o *object, known uids, generation int64) (*object, error) {
	c, err := renamed(content(o), known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o, err)
	}
	w := &object{Unstructured: &unstructured.Unstructured{Object: c}, kind: o.kind, stays: o.stays}
	owners := w.GetOwnerReferences()
	before := o.GetOwnerReferences()
	kept := owners[:0]
	for i := range owners {
		if _, moves := known[before[i].UID]; moves {
			kept = append(kept, owners[i])
		}
	}
	w.SetOwnerReferences(kept)
	w.SetFinalizers(finalizers(o))
	if !o.stays {
		annotate(w, AnnotationMovedFrom, string(o.GetUID()))
	}
	if status, ok := w.Object["status"].(map[string]any); ok {
		observe(status, o.GetGeneration(), generation)
	}
	if o.kind.GroupVersionKind == metalv1.GroupVersion.WithKind("ServerBootConfiguration") {
		err = carryAttempt(o, w, generation)
	}
	return w, err
}

// renamed replaces UIDs wherever they are written: in references, annotations, names and messages.
func renamed(c map[string]any, known uids) (map[string]any, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	text = uidForm.ReplaceAllFunc(text, func(uid []byte) []byte {
		if to, ok := known[types.UID(uid)]; ok {
			return []byte(to)
		}
		return uid
	})
	var out map[string]any
	return out, json.Unmarshal(text, &out)
}

func finalizers(o *object) (kept []string) {
	for _, f := range o.GetFinalizers() {
		if !slices.Contains(collecting, f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// observe turns the generations of an original that its controllers have seen into those of its copy: an older one is none of the copy's.
func observe(value any, from, to int64) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			observe(item, from, to)
		}
	case map[string]any:
		for key, item := range value {
			seen, ok := item.(int64)
			switch {
			case key != "observedGeneration" || !ok:
				observe(item, from, to)
			case seen == from:
				value[key] = to
			default:
				value[key] = int64(0)
			}
		}
	}
}

// carryAttempt turns the generation in a boot attempt, too. The fingerprint of its ignition is made with a key of the installation and the UID: the target has
// others, and does not compare what it does not have.
func carryAttempt(from, to *object, generation int64) error {
	var config metalv1.ServerBootConfiguration
	config.Annotations = from.GetAnnotations()
	a := bootattempt.Of(&config)
	if a == nil || a.Generation == 0 && a.Ignition == "" {
		return nil
	}
	if a.Generation == from.GetGeneration() {
		a.Generation = generation
	} else {
		a.Generation = 0
	}
	a.Ignition = ""
	annotate(to, metalv1.AnnotationBootAttempt, a.String())
	return nil
}

func annotate(o *object, key, value string) {
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
}

// namespaceMarks are what Farrier reads of a namespace.
var namespaceMarks = struct{ label, annotation []string }{[]string{metalv1.LabelBMCSecrets}, []string{ipxev1.AnnotationBootIdentities, ipxev1.AnnotationAllowProfilesFrom}}

// copyNamespace is a namespace with what Farrier reads of it, and whether that is not what another one has already.
func copyNamespace(from *corev1.Namespace, to *corev1.Namespace) (changed bool, differs string) {
	differing := func(what string, keys []string, from map[string]string, to *map[string]string) {
		for _, key := range keys {
			value, has := from[key]
			if is, there := (*to)[key]; !has || there && is == value {
				continue
			} else if there {
				differs = what + " " + key
				continue
			}
			if *to == nil {
				*to = map[string]string{}
			}
			(*to)[key], changed = value, true
		}
	}
	differing("label", namespaceMarks.label, from.Labels, &to.Labels)
	differing("annotation", namespaceMarks.annotation, from.Annotations, &to.Annotations)
	return changed, differs
}
