package derivedboot

import (
	"encoding/json"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// Image is what a reference named when a boot was ordered.
type Image struct {
	Reference string        `json:"reference"`
	Plan      registry.Plan `json:"plan"`
}

// String is the value of the annotation; empty: nothing is known.
func (i Image) String() string {
	if i.Plan.Digest == "" {
		return ""
	}
	text, err := json.Marshal(i)
	if err != nil { // strings and numbers can always be marshalled
		return ""
	}
	return string(text)
}

// Ordered is the image that the boot of a boot configuration was ordered with; false: none is ordered, or another image is wanted since.
func Ordered(config *metalv1.ServerBootConfiguration) (registry.Plan, bool) {
	text := config.Annotations[metalv1.AnnotationBootImage]
	var image Image
	if text == "" || !bootattempt.Of(config).Open() || json.Unmarshal([]byte(text), &image) != nil {
		return registry.Plan{}, false
	}
	return image.Plan, image.Reference == config.Spec.Image && image.Plan.Digest != ""
}
