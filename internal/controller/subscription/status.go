package subscription

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
)

// ConditionSubscribed reports whether a BMC sends events. It is not part of being Ready: without events a
// BMC is polled, as every other is.
const ConditionSubscribed = "EventsSubscribed"

// Reasons of ConditionSubscribed.
const (
	ReasonSubscribed = "Subscribed"
	ReasonNotOffered = "NotOffered"
	ReasonFailed     = "SubscriptionFailed"
)

// describe writes what the last look found into status.
func describe(obj *metalv1.BMC, m *memory) {
	status := &obj.Status
	status.EventsSubscriptionLink = m.found.links[bmcevents.Alerts]
	status.MetricsReportSubscriptionLink = m.found.links[bmcevents.MetricReports]
	describeCondition(&status.Conditions, obj.Generation, m)
}

func describeCondition(conditions *[]metav1.Condition, generation int64, m *memory) {
	if m.found.base == "" && (m.err == nil || notOffered(m.err)) {
		apimeta.RemoveStatusCondition(conditions, ConditionSubscribed)
		return
	}
	c := condition(m.found, m.err)
	c.ObservedGeneration = generation
	apimeta.SetStatusCondition(conditions, c)
}

func condition(w *work, err error) metav1.Condition {
	c := metav1.Condition{Type: ConditionSubscribed, Status: metav1.ConditionFalse}
	if err == nil {
		err = w.refused[bmcevents.Alerts]
	}
	switch reports := w.refused[bmcevents.MetricReports]; {
	case notOffered(err):
		c.Reason, c.Message = ReasonNotOffered, "The BMC offers no events; Farrier polls it: "+err.Error()
	case err != nil:
		c.Reason, c.Message = ReasonFailed, "The subscription failed; Farrier polls the BMC: "+err.Error()
	case notOffered(reports):
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, ReasonSubscribed, "The BMC sends events; it offers no metric reports"
	case reports != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, ReasonSubscribed, "The BMC sends events; it refused to send metric reports: "+reports.Error()
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, ReasonSubscribed, "The BMC sends events and metric reports"
	}
	return c
}
