package api

import (
	"k8s.io/apimachinery/pkg/runtime"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

var groups = runtime.SchemeBuilder{metalv1.AddToScheme, bootv1.AddToScheme, ipxev1.AddToScheme, farrierv1.AddToScheme}

// AddToScheme registers the types of all groups with a scheme.
func AddToScheme(scheme *runtime.Scheme) error { return groups.AddToScheme(scheme) }
