package bootconfig

import (
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/derivedboot"
)

// mirrored are the conditions about deliveries that a boot configuration copies from its boot configs: what was fetched, by each method.
var mirrored = func() []string {
	kinds := []string{bootv1.ConditionIgnitionReadAgain, bootv1.ConditionIgnitionContent}
	for _, m := range bootmethod.Methods {
		for _, types := range m.Conditions {
			kinds = append(kinds, types[0])
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}()

// report is what one boot config reports in its status.
type report struct {
	conditions           []metav1.Condition
	attempt, fingerprint string
}

func (v *view) reports() []report {
	var all []report
	for _, c := range v.children {
		if c.have != nil && (!v.derived || derivedboot.IsRendered(c.have)) {
			its := bootmethod.ConfigOf(c.have)
			all = append(all, report{*its.Conditions, *its.DeliveryAttempt, *its.IgnitionFingerprint})
		}
	}
	return all
}

// mirrorDeliveries copies from the boot configs what the machine has fetched, and the fingerprint of its ignition.
func (v *view) mirrorDeliveries() {
	children, status := v.reports(), &v.config.Status
	attempt := v.deliveryAttempt(children)
	for _, kind := range mirrored {
		if c := delivered(children, kind, attempt); c != nil {
			if v.knowsBetter(c) {
				continue
			}
			c.ObservedGeneration = v.config.Generation
			apimeta.SetStatusCondition(&status.Conditions, *c)
		}
	}
	if len(children) == 0 {
		return
	}
	if !v.derived || status.DeliveryAttempt != attempt {
		status.DeliveryAttempt = ""
	}
	status.IgnitionFingerprint = ""
	for _, from := range children {
		if from.attempt == attempt {
			status.DeliveryAttempt = attempt
		}
		if from.fingerprint != "" {
			status.IgnitionFingerprint = from.fingerprint
		}
	}
}

// deliveryAttempt is the attempt that is under way, and otherwise the one whose deliveries the boot configs report.
func (v *view) deliveryAttempt(children []report) string {
	if a := bootattempt.Of(v.config); a.Open() {
		return a.ID
	}
	for _, from := range children {
		if from.attempt != "" {
			return from.attempt
		}
	}
	return ""
}

// delivered finds the condition of a kind. A machine is delivered by one of two objects where it can boot either way,
// and what it has fetched by one is fetched. An object that still reports an earlier attempt than the other does not count.
func delivered(children []report, kind, attempt string) (found *metav1.Condition) {
	for _, from := range children {
		c := apimeta.FindStatusCondition(from.conditions, kind)
		if c == nil || found != nil && found.Status == metav1.ConditionTrue {
			continue
		}
		copied := *c
		if found = &copied; from.attempt != "" && from.attempt != attempt && kind != bootv1.ConditionIgnitionContent && c.Status == metav1.ConditionTrue {
			found.Status, found.Reason, found.Message = metav1.ConditionFalse, "BootOrdered", ""
		}
	}
	return found
}
