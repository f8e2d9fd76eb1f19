package controlplane

import (
	"context"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

// fieldOwnersPlugin is what the API server calls the plugin that fieldOwners is.
const fieldOwnersPlugin = "FieldOwners"

// fieldOwners keeps no record of who set which field in objects that a controller makes. That record is up to half of such an object,
// and keeping it a sixth of what the API costs: the fields before and after are compared at each write (docs/dev/decisions/013).
//
// An object that is made without the record goes without it until somebody uses server-side apply, who starts one: what was
// there before then belongs to "before-first-apply", and applying another value is a conflict, as it would be with the controller's name.
type fieldOwners struct {
	*admission.Handler
	untracked []string // field managers
}

var _ admission.MutationInterface = fieldOwners{}

// newFieldOwners makes the plugin for what some field managers create.
func newFieldOwners(untracked []string) AdmissionPlugin {
	return AdmissionPlugin{Name: fieldOwnersPlugin, Factory: func(io.Reader) (admission.Interface, error) {
		return fieldOwners{admission.NewHandler(admission.Create), untracked}, nil
	}}
}

// Admit drops the record of a new object. What is created by applying it keeps its own.
func (f fieldOwners) Admit(_ context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	options, ok := attributes.GetOperationOptions().(*metav1.CreateOptions)
	if !ok || attributes.GetSubresource() != "" || !slices.Contains(f.untracked, options.FieldManager) {
		return nil
	}
	object, err := meta.Accessor(attributes.GetObject())
	if err == nil && !slices.ContainsFunc(object.GetManagedFields(), applied) {
		object.SetManagedFields(nil)
	}
	return nil
}

func applied(entry metav1.ManagedFieldsEntry) bool {
	return entry.Operation == metav1.ManagedFieldsOperationApply
}
