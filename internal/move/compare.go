package move

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
)

// difference names the first field in which a copy is not what is wanted; empty: it has everything. A copy may have more: its API may know defaults that the
// other does not.
func difference(want, have *object) string {
	return lacking("", comparable(want), comparable(have))
}

// mismatch names the first field in which an object that somebody else made differs, in either direction, from what is wanted. Its status is the business of
// controllers.
func mismatch(want, have *object) string {
	a, b := comparable(want), comparable(have)
	for _, c := range []map[string]any{a, b} {
		delete(c, "status")
		if metadata, ok := c["metadata"].(map[string]any); ok {
			delete(metadata, "finalizers")
		}
	}
	if field := lacking("", a, b); field != "" {
		return field
	}
	return lacking("", b, a)
}

// comparable is the content of an object without the annotations that admission and a move write by themselves. Of what belongs to people, only that counts
// which Farrier reads: tools that keep a Secret in several clusters label it as they like.
func comparable(o *object) map[string]any {
	c := content(o)
	if o.kind.core() && o.GetAnnotations()[AnnotationMovedFrom] == "" {
		delete(c, "metadata")
	}
	metadata, _ := c["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	delete(annotations, AnnotationMovedFrom)
	delete(annotations, annotationFound)
	delete(annotations, ipxev1.AnnotationAdmitted)
	return c
}

// lacking names the first thing of want that have does not have.
func lacking(path string, want, have any) string {
	switch want := want.(type) {
	case nil:
		return ""
	case map[string]any:
		if len(want) == 0 {
			return ""
		}
		other, ok := have.(map[string]any)
		if !ok {
			return path
		}
		keys := make([]string, 0, len(want))
		for key := range want {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if field := lacking(path+"."+key, want[key], other[key]); field != "" {
				return field
			}
		}
		return ""
	case []any:
		other, _ := have.([]any)
		if len(want) != len(other) {
			return path
		}
		for i := range want {
			if field := lacking(fmt.Sprintf("%s[%d]", path, i), want[i], other[i]); field != "" {
				return field
			}
		}
		return ""
	}
	if !reflect.DeepEqual(runtime.DeepCopyJSONValue(want), have) {
		return path
	}
	return ""
}
