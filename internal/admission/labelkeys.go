package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// assignmentPrefixes start the keys by which Profiles are selected. The second is a misspelling that manifests are found with; it stays one, as a
// label under it is legal and its own: whoever resolves the selector says what was probably meant.
var assignmentPrefixes = []string{"assignment/", "assigment/"}

// legalKey is a key of the form assignment/ipxe/x as Kubernetes allows it, assignment/ipxe-x: a label key has one slash at most
// (Kubernetes, "Labels and Selectors"). It reports whether the key is of that form.
func legalKey(key string) (string, bool) {
	for _, prefix := range assignmentPrefixes {
		name, found := strings.CutPrefix(key, prefix)
		if found && strings.Contains(name, "/") {
			return prefix + strings.ReplaceAll(name, "/", "-"), true
		}
	}
	return "", false
}

// labelKeys repairs the keys of labels. It comes before the API server looks at them.
func labelKeys(object, old *unstructured.Unstructured) ([]string, bool) {
	return renameKeys(object, old, "metadata", "labels")
}

// selectorKeys repairs the keys of the selectors of an Assignment, which are no labels and would be stored as they are and never match.
func selectorKeys(object, old *unstructured.Unstructured) (warnings []string, changed bool) {
	for _, name := range []string{"profileSelectors", "subjectSelector", "subjectSelectors"} {
		told, renamed := renameKeys(object, old, "spec", name)
		warnings, changed = append(warnings, told...), changed || renamed
	}
	return warnings, changed
}

// renameKeys repairs the keys of one map of an object, and of what says who owns them: otherwise the repaired key had no owner, and an
// apply that leaves it out would not remove it.
func renameKeys(object, old *unstructured.Unstructured, path ...string) (warnings []string, changed bool) {
	found, ok, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	entries, isMap := found.(map[string]any)
	if err != nil || !ok || !isMap {
		return nil, false
	}
	where := strings.Join(path, ".")
	renamed := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		legal, illegal := legalKey(key)
		if !illegal {
			continue
		}
		if other, taken := entries[legal]; taken && !replaces(entries[key], other, old, legal, path) {
			warnings = append(warnings, warning(fmt.Sprintf("%s: %q is not a legal label key, and was not changed to %q, because that key exists with another value",
				where, key, legal)))
			continue
		}
		entries[legal] = entries[key]
		delete(entries, key)
		renamed[key] = legal
		warnings = append(warnings, warning(fmt.Sprintf("%s: %q is not a legal label key and was changed to %q", where, key, legal)))
	}
	if len(renamed) > 0 {
		renameOwned(object, renamed, path)
		renameApplied(object, renamed, path)
	}
	return warnings, len(renamed) > 0
}

// replaces reports whether the value under the illegal key takes the place of the one under the legal key. It does when they are equal, and when the
// latter is what was stored: then the request brought only the illegal one, as a patch does.
func replaces(value, other any, old *unstructured.Unstructured, legal string, path []string) bool {
	if equality.Semantic.DeepEqual(value, other) {
		return true
	}
	if old == nil {
		return false
	}
	stored, ok, err := unstructured.NestedFieldNoCopy(old.Object, append(slices.Clone(path), legal)...)
	return err == nil && ok && equality.Semantic.DeepEqual(other, stored)
}
