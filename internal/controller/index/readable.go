package index

import (
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// ErrNotReadable says that Profiles of a namespace may not read an object of another one. It is the same whether or not the object exists: users
// of one namespace must not find out what exists in others.
var ErrNotReadable = errors.New("the object is in another namespace, and has no annotation " + ipxev1.AnnotationAllowProfilesFrom + " that allows this one")

// Readable reports whether Profiles of a namespace may read an object: those of its own, and those that its annotation or label allows.
func Readable(obj client.Object, namespace string) bool {
	return obj.GetNamespace() == namespace || obj.GetLabels()[ipxev1.AnnotationAllowProfilesFrom] == namespace ||
		profile.Granted(obj.GetAnnotations()[ipxev1.AnnotationAllowProfilesFrom], namespace)
}
