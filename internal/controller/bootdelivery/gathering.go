package bootdelivery

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/events"
)

// Each write of a boot config leads to one of its boot configuration, which wakes the server. So what a machine fetches is
// gathered: what is fetched within Patience from the first is said together. Whoever waits for it reckons in minutes, and from
// the time of the delivery that the condition carries.
//
// Many machines that boot together fetch together, and what is said of them then would take the processor from the next answers: a write
// costs what a hundred answers do. So boot configs take turns, Pace apart (turns.go).
//
// When the report of a discovery is stored, that boot has come to its end, and what has delivered it is about to be deleted. Then
// nothing is said for parting, after which it is, should it be there still.

const (
	// parting is how long a boot config is expected to last at most after the report of its discovery.
	parting = time.Minute
	// maxReported is how many attempts are remembered of which the report is stored: those of one minute.
	maxReported = 1 << 12
)

// news is a condition that a delivery turns to True.
type news struct {
	condition metav1.Condition
	// due is when it is to be said.
	due time.Time
}

// fetched is what has been delivered of the boot that is under way, and conditions do not say yet.
func (d *Delivery) fetched(in *source, conditions []metav1.Condition) []news {
	current := in.open()
	var found []news
	add := func(kind, reason, message string, at, due time.Time) {
		c := metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: in.object.GetGeneration(),
			Message: message, LastTransitionTime: metav1.NewTime(at),
		}
		if events.Differ(apimeta.FindStatusCondition(conditions, kind), &c) {
			found = append(found, news{c, due})
		}
	}
	for kind, types := range in.method.Conditions {
		made, noted := d.notes.get(in.name, kind)
		if !noted || in.config != nil && made.attempt != current {
			continue
		}
		for _, t := range types {
			if !isTrue(apimeta.FindStatusCondition(conditions, t)) {
				add(t, "Delivered", deliveryOf(current)+" to "+made.addr, made.at, made.due)
			}
		}
		if kind == bootview.DeliveredIgnition && current != "" && made.again != "" {
			// It may be the machine, trying again, or a stranger who came first: both addresses are told.
			add(bootv1.ConditionIgnitionReadAgain, "ReadAgain", deliveryOf(current)+" to "+made.addr+", and again to "+made.again, time.Time{}, made.dueAgain)
		}
	}
	return found
}

// gathers says for how long deliveries are to wait for more of them; 0: they are to be said.
func (d *Delivery) gathers(in *source, deliveries []news) time.Duration {
	if len(deliveries) == 0 {
		return 0
	}
	until := deliveries[0].due
	for _, n := range deliveries {
		if n.due.Before(until) {
			until = n.due
		}
	}
	if at, reported := d.notes.reportOf(in.open()); reported && in.attempt.Clean == "" && until.Before(at.Add(parting)) {
		until = at.Add(parting)
	}
	return max(until.Sub(d.Clock.Now()), 0)
}

// reportOf is when the report of an attempt was stored.
func (n *notes) reportOf(attempt string) (at time.Time, stored bool) {
	return n.reported.Get(attempt)
}
