package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// selecting is the rule for the selector of a Set: one that nobody can read is refused, and one that selects everything is warned of, for most
// fleets have a machine that is not meant.
func selecting[T any, P object[T]](name, targets string, selector func(P) *metav1.LabelSelector) rule {
	return of(func(_ context.Context, c *check, now, before P) error {
		wanted := selector(now)
		if !c.created() && equality.Semantic.DeepEqual(wanted, selector(before)) {
			return nil
		}
		path := field.NewPath("spec", name)
		parsed, err := metav1.LabelSelectorAsSelector(wanted)
		if err != nil {
			c.refuse(field.Invalid(path, metav1.FormatLabelSelector(wanted), err.Error()))
		} else if parsed.Empty() {
			c.warn(path, "an empty selector selects all %s", targets)
		}
		return nil
	})
}

// setSettingsNames is settingsNames for a template.
func setSettingsNames(_ context.Context, c *check, now, before *metalv1.BIOSSettingsSet) error {
	flowNames(c, field.NewPath("spec", "biosSettingsTemplate", "settingsFlow"), now.Spec.BIOSSettingsTemplate.SettingsFlow, before.Spec.BIOSSettingsTemplate.SettingsFlow)
	return nil
}
