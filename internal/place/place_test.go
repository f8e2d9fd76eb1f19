package place

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

func TestOf(t *testing.T) {
	for name, tt := range map[string]struct {
		labels, annotations map[string]string
		want                Place
	}{
		"nobody says":      {},
		"labels":           {labels: map[string]string{LabelZone: "b1", LabelRack: "r1", LabelUnit: "12"}, want: Place{"b1", "r1", 12}},
		"annotations":      {annotations: map[string]string{LabelZone: "b1", LabelRack: "row 1 / r1", LabelUnit: "1"}, want: Place{"b1", "row 1 / r1", 1}},
		"a label is first": {labels: map[string]string{LabelRack: "r1"}, annotations: map[string]string{LabelRack: "r2"}, want: Place{Rack: "r1"}},
		"metadata":         {labels: map[string]string{"metadata.metal.ironcore.dev/rack": "r1", "metadata.metal.ironcore.dev/rack-unit": "3"}, want: Place{Rack: "r1", Unit: 3}},
		"site":             {labels: map[string]string{metalv1.LabelSite: "berlin"}, want: Place{Zone: "berlin"}},
		"no unit":          {labels: map[string]string{LabelUnit: "top"}},
		"below the rack":   {labels: map[string]string{LabelUnit: "-1"}},
	} {
		if got := Of(&metav1.ObjectMeta{Labels: tt.labels, Annotations: tt.annotations}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
