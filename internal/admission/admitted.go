package admission

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
)

// stamp writes down when an object came, and keeps that as it was written. Kubernetes says it to the second (metav1.Time), and what comes
// within one second of the other would be ordered by name. What a request says of it itself does not count: a copy is not as old as what
// it was copied from.
func stamp(object, old *unstructured.Unstructured, now time.Time) (changed bool) {
	annotations, _, err := unstructured.NestedStringMap(object.Object, "metadata", "annotations")
	if err != nil {
		return false // its schema says better what is wrong
	}
	is, has := annotations[ipxev1.AnnotationAdmitted]
	want, wanted := now.UTC().Format(time.RFC3339Nano), true
	if old != nil {
		want, wanted = old.GetAnnotations()[ipxev1.AnnotationAdmitted]
	}
	switch {
	case has == wanted && is == want:
		return false
	case !wanted:
		delete(annotations, ipxev1.AnnotationAdmitted)
	default:
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[ipxev1.AnnotationAdmitted] = want
	}
	object.SetAnnotations(annotations)
	return true
}
