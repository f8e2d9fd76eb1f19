package place

import (
	"cmp"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Labels, or annotations, that say where a server stands.
const (
	LabelZone = "topology.kubernetes.io/zone"
	LabelRack = "farrier.dev/rack"
	LabelUnit = "farrier.dev/rack-unit"
)

// What machines are told under metadata of these names counts as well.
const (
	metadataRack = metalv1.MetadataPrefix + "rack"
	metadataUnit = metalv1.MetadataPrefix + "rack-unit"
)

// Place is where a server stands. What nobody has said is empty, or 0.
type Place struct {
	Zone, Rack string
	// Unit is the lowest unit of the rack that the server takes, from 1 at the bottom.
	Unit int
}

// Of is where an object stands. The site is the zone where no zone is named.
func Of(obj metav1.Object) Place {
	said := func(key string) string { return cmp.Or(obj.GetLabels()[key], obj.GetAnnotations()[key]) }
	unit, err := strconv.Atoi(cmp.Or(said(LabelUnit), said(metadataUnit)))
	if err != nil || unit < 1 {
		unit = 0
	}
	return Place{cmp.Or(said(LabelZone), obj.GetLabels()[metalv1.LabelSite]), cmp.Or(said(LabelRack), said(metadataRack)), unit}
}
