package admission

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Request is what the API was asked to store. Rules do not change the objects in it.
type Request struct {
	Kind schema.GroupKind
	// Name and Namespace are those of the request: an object without a name is given one later.
	Namespace, Name string
	// Object is what is to be stored, Old what is stored now; Old is nil when the object is created, Object when it is deleted.
	Object, Old *unstructured.Unstructured
	// DryRun says that nothing will be stored.
	DryRun bool
}

// created reports whether the object is new.
func (r Request) created() bool { return r.Old == nil }

// Verdict says what is wrong with a request. Warnings do not keep it out.
type Verdict struct {
	Errors   field.ErrorList
	Warnings []string
}

// Allowed reports whether nothing is wrong.
func (v Verdict) Allowed() bool { return len(v.Errors) == 0 }

// Mutation is what became of an object before it is validated.
type Mutation struct {
	// Object is the changed object; nil if there is nothing to change.
	Object   *unstructured.Unstructured
	Warnings []string
}
