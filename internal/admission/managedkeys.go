package admission

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// renameOwned renames keys of the map at path in metadata.managedFields, where a field x is called f:x (structured merge diff, FieldsV1).
func renameOwned(object *unstructured.Unstructured, renamed map[string]string, path []string) {
	metadata, ok := object.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	managers, ok := metadata["managedFields"].([]any)
	if !ok {
		return
	}
	owned := append([]string{"fieldsV1"}, path...)
	for i := 1; i < len(owned); i++ {
		owned[i] = "f:" + owned[i]
	}
	for _, manager := range managers {
		entry, ok := manager.(map[string]any)
		if !ok {
			continue
		}
		renameIn(entry, owned, renamed, "f:")
	}
}

// renameApplied renames keys of the map at path in what kubectl apply keeps of the object: it compares the next manifest with that.
func renameApplied(object *unstructured.Unstructured, renamed map[string]string, path []string) {
	annotations := object.GetAnnotations()
	text, ok := annotations[corev1.LastAppliedConfigAnnotation]
	if !ok {
		return
	}
	var applied map[string]any
	if json.Unmarshal([]byte(text), &applied) != nil || !renameIn(applied, path, renamed, "") {
		return
	}
	changed, err := json.Marshal(applied)
	if err != nil {
		return
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(changed) + "\n" // as kubectl ends it
	object.SetAnnotations(annotations)
}

// renameIn renames keys of the map at path, each with a prefix. It reports whether there was one.
func renameIn(root map[string]any, path []string, renamed map[string]string, prefix string) bool {
	found, ok, err := unstructured.NestedFieldNoCopy(root, path...)
	entries, isMap := found.(map[string]any)
	if err != nil || !ok || !isMap {
		return false
	}
	changed := false
	for from, to := range renamed {
		value, has := entries[prefix+from]
		if !has {
			continue
		}
		delete(entries, prefix+from)
		entries[prefix+to] = value
		changed = true
	}
	return changed
}
