package admission

import (
	"context"
	"errors"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/rollout/policyspec"
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

// rolloutPolicy refuses what no schema can judge: schedules and time zones.
func rolloutPolicy(_ context.Context, c *check, now, before *farrierv1.RolloutPolicy) error {
	if !c.created() && equality.Semantic.DeepEqual(now.Spec, before.Spec) {
		return nil
	}
	if now.Name == rolloutpermit.NoPolicy {
		c.refuse(field.Invalid(field.NewPath("metadata", "name"), now.Name, "is what a Set says that goes by no policy"))
	}
	if _, err := policyspec.Read(&now.Spec); err != nil {
		path, detail := "spec", err.Error()
		if of, ok := errors.AsType[*policyspec.SpecError](err); ok {
			path, detail = of.Field, of.Err.Error()
		}
		c.refuse(field.Invalid(field.NewPath(path), field.OmitValueType{}, detail))
	}
	return nil
}

// accepted is the form of the annotation metalv1.AnnotationFailuresAccepted.
var accepted = regexp.MustCompile(`^[0-9]{1,9}@[0-9]{1,18}$`)

// followsPolicy refuses words about a rollout that nobody knows, and warns of a policy that does not exist.
func followsPolicy[T any, P object[T]](ctx context.Context, c *check, now, before P) error {
	path := field.NewPath("metadata", "annotations")
	said := func(key string) (string, bool) {
		value, before := now.GetAnnotations()[key], before.GetAnnotations()[key]
		return value, value != "" && (c.created() || value != before)
	}
	words := []string{metalv1.RolloutPaused, metalv1.RolloutAborted}
	if word, is := said(metalv1.AnnotationRollout); is && !slices.Contains(words, word) {
		c.refuse(field.NotSupported(path.Key(metalv1.AnnotationRollout), word, words))
	}
	if text, is := said(metalv1.AnnotationFailuresAccepted); is {
		if !accepted.MatchString(text) {
			c.refuse(field.Invalid(path.Key(metalv1.AnnotationFailuresAccepted), text, "must be a number and the generation of the Set, such as 2@1"))
		}
	}
	policy, is := said(metalv1.AnnotationRolloutPolicy)
	if !is || policy == rolloutpermit.NoPolicy {
		return nil
	}
	missing, err := c.missed(ctx, types.NamespacedName{Name: policy}, &farrierv1.RolloutPolicy{})
	if err == nil && missing {
		c.warn(path.Key(metalv1.AnnotationRolloutPolicy), "RolloutPolicy %q does not exist: nothing begins until it does", policy)
	}
	return err
}
