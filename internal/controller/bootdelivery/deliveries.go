package bootdelivery

import (
	"strings"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/cache/bounded"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
)

// note is the newest delivery of one kind for one boot config.
type note struct {
	kind               bootview.DeliveryKind
	attempt, addr, mac string
	at                 time.Time
	// again is who read ignition a second time in the attempt.
	again string
	// due and dueAgain are when conditions are to tell of it, and of the second time.
	due, dueAgain time.Time
}

// delivered is what of one boot config was, of each kind the newest. There are a few kinds at most, so that looking through them is the fastest.
type delivered []*note

func (all delivered) find(kind bootview.DeliveryKind) *note {
	for _, n := range all {
		if n.kind == kind {
			return n
		}
	}
	return nil
}

// notes collects deliveries between two reconciles. Only the first of an attempt is news.
type notes struct {
	mu      sync.Mutex
	byEntry map[string]delivered
	// ended counts boots without an attempt that are over, and generations are those that a boot config was last seen in.
	ended       map[string]int
	generations map[string]int64
	// reported has when the report of an attempt was stored, of those that were last.
	reported *bounded.Cache[string, time.Time]
	sources  map[string]*trigger.Source
	// lastTurn is when conditions are to tell of the last delivery that waits for its turn.
	lastTurn time.Time
}

func (n *notes) init() {
	n.byEntry, n.ended, n.generations = map[string]delivered{}, map[string]int{}, map[string]int64{}
	n.reported = bounded.NewCache[string, time.Time](maxReported)
	n.sources = map[string]*trigger.Source{}
	for _, m := range bootmethod.Methods {
		n.sources[m.Kind] = &trigger.Source{}
	}
}

func (n *notes) source(kind string) *trigger.Source { return n.sources[kind] }

// Delivered is the boot server's callback. It notes the delivery and returns at once.
func (d *Delivery) Delivered(delivery bootview.Delivery) {
	d.Trace.Delivered(delivery)
	if delivery.Kind == bootview.ReceivedReport && delivery.Status < 300 && delivery.Attempt != "" {
		d.notes.reported.Add(delivery.Attempt, d.Clock.Now())
	}
	if delivery.Stranger || delivery.Status >= 300 || !counts(&delivery) {
		return
	}
	if wait, news := d.notes.add(delivery, d.Clock, turns{d.Patience, d.Pace}); news {
		d.notes.wakeAfter(wait, delivery.Entry)
	}
}

// counts reports whether a condition tells of such a delivery. What has no boot config, such as an assignment, has none.
func counts(delivery *bootview.Delivery) bool {
	kind, _, _ := strings.Cut(delivery.Entry, "/")
	for i := range bootmethod.Methods { // a few, and every answer asks
		if m := &bootmethod.Methods[i]; m.Kind == kind {
			_, counted := m.Conditions[delivery.Kind]
			return counted
		}
	}
	return false
}

// wake has the boot configs behind entries reconciled.
func (n *notes) wake(entries ...string) { n.wakeAfter(0, entries...) }

func (n *notes) wakeAfter(d time.Duration, entries ...string) {
	for _, entry := range entries {
		parts := strings.SplitN(entry, "/", 3)
		if len(parts) == 3 && n.sources[parts[0]] != nil {
			n.sources[parts[0]].WakeAfter(parts[1], parts[2], d)
		}
	}
}

// add reports whether the delivery is news, and how long conditions wait before they tell of it.
func (n *notes) add(delivery bootview.Delivery, c clock.PassiveClock, t turns) (wait time.Duration, news bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.byEntry[delivery.Entry]
	made := all.find(delivery.Kind)
	known := made != nil && made.attempt == delivery.Attempt
	// Without an attempt of ours nothing tells a second read from a second boot.
	if known && (delivery.Kind != bootview.DeliveredIgnition || delivery.Attempt == "" || delivery.Attempt == notOrdered || made.again != "") {
		return 0, false
	}
	now := c.Now() // nobody asks what the time is for what is no news, and that is most of what is delivered
	due := all.due(delivery.Attempt, now)
	if due.IsZero() {
		due = t.next(n.lastTurn, now)
		n.lastTurn = due
	}
	if made == nil {
		made = &note{}
		n.byEntry[delivery.Entry] = append(all, made)
	}
	if known {
		made.again, made.dueAgain = delivery.Addr, due
	} else {
		*made = note{kind: delivery.Kind, attempt: delivery.Attempt, addr: delivery.Addr, mac: delivery.MAC, at: delivery.Time, due: due}
	}
	return due.Sub(now), true
}

func (n *notes) get(entry string, kind bootview.DeliveryKind) (note, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if found := n.byEntry[entry].find(kind); found != nil {
		return *found, true
	}
	return note{}, false
}

func (n *notes) drop(entry string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.byEntry, entry)
	delete(n.ended, entry)
	delete(n.generations, entry)
}

// takeBack resets the conditions that refer to an earlier boot than the one that is under way.
func (in *source) takeBack(status *bootmethod.Config) {
	current := in.open()
	kept := false
	reset := func(kind string, stale bool) {
		switch {
		case !apimeta.IsStatusConditionTrue(*status.Conditions, kind):
		case stale:
			apimeta.SetStatusCondition(status.Conditions, metav1.Condition{
				Type: kind, Status: metav1.ConditionFalse, Reason: "BootOrdered", ObservedGeneration: in.object.GetGeneration(),
			})
		default:
			kept = true
		}
	}
	for _, types := range in.method.Conditions {
		for _, t := range types {
			c := apimeta.FindStatusCondition(*status.Conditions, t)
			reset(t, in.endings > 0 || in.rewritten(c) || in.earlier(*status.DeliveryAttempt, c))
		}
	}
	again := apimeta.FindStatusCondition(*status.Conditions, bootv1.ConditionIgnitionReadAgain)
	reset(bootv1.ConditionIgnitionReadAgain, in.earlier(*status.DeliveryAttempt, again))
	switch {
	case !kept:
		*status.DeliveryAttempt = ""
	case current != "":
		*status.DeliveryAttempt = current // an older version did not write it
	}
}

// open is the ID of the attempt that is open; empty: none is.
func (in *source) open() string {
	if in.attempt.Open() {
		return in.attempt.ID
	}
	return ""
}

// rewritten reports whether a person has changed the boot config since the condition was written.
func (in *source) rewritten(c *metav1.Condition) bool {
	return in.config == nil && c != nil && c.ObservedGeneration != in.object.GetGeneration()
}

// earlier reports whether a delivery's condition refers to an attempt before the one that is open. Without an open attempt it does not.
func (in *source) earlier(named string, c *metav1.Condition) bool {
	return in.attempt.Open() && !in.attempt.Concerns(named, c)
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

// deliveryOf begins the message of a delivery's condition.
func deliveryOf(attempt string) string {
	if attempt == "" {
		return "Delivered"
	}
	return "Delivered in boot attempt " + attempt
}
