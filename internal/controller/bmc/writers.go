package bmc

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// beforeFirstApply is who the API server names for fields of which nobody was recorded (structured-merge-diff,
// k8s.io/apimachinery/pkg/util/managedfields): that is nobody.
const beforeFirstApply = "before-first-apply"

// writers names those beside Farrier that have set the stored credentials, in order. They continue from what they wrote
// last: they remove what is added, and revert what is changed. A secret that was made for this BMC because of them is
// Farrier's, whoever has mended it since.
func (v storedCredentials) writers(obj *metalv1.BMC) []string {
	if v.object().GetAnnotations()[metalv1.AnnotationCredentialsOf] == string(obj.UID) {
		return nil
	}
	var names []string
	for _, entry := range v.object().GetManagedFields() {
		if entry.Manager != metalv1.FieldManager && entry.Manager != beforeFirstApply && entry.Subresource == "" && setsData(entry.FieldsV1) {
			names = append(names, entry.Manager)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// setsData reports whether fields are of what a secret holds.
func setsData(fields *metav1.FieldsV1) bool {
	var set map[string]json.RawMessage
	if json.Unmarshal(fields.GetRawBytes(), &set) != nil {
		return false
	}
	return set["f:data"] != nil || set["f:stringData"] != nil
}
