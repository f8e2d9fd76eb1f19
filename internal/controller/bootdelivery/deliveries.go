package bootdelivery

import (
	"strings"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/cache/bounded"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
)

// note is the newest delivery of one kind for one boot config.
type note struct {
	attempt, addr, mac string
	at                 time.Time
	// again is who read ignition a second time in the attempt.
	again string
	// heard and heardAgain are when this process learnt of it, and of the second time.
	heard, heardAgain time.Time
}

// notes collects deliveries between two reconciles. Only the first of an attempt is news.
type notes struct {
	mu      sync.Mutex
	byEntry map[string]map[bootview.DeliveryKind]note
	// ended counts boots without an attempt that are over, and generations are those that a boot config was last seen in.
	ended       map[string]int
	generations map[string]int64
	// reported has when the report of an attempt was stored, of those that were last.
	reported *bounded.Cache[string, time.Time]
	sources  map[string]*trigger.Source
}

func (n *notes) init() {
	n.byEntry, n.ended, n.generations = map[string]map[bootview.DeliveryKind]note{}, map[string]int{}, map[string]int64{}
	n.reported = bounded.NewCache[string, time.Time](maxReported)
	n.sources = map[string]*trigger.Source{}
	for _, m := range bootmethod.Methods {
		n.sources[m.Kind] = &trigger.Source{}
	}
}

func (n *notes) source(kind string) *trigger.Source { return n.sources[kind] }

// Delivered is the boot server's callback. It notes the delivery and returns at once.
func (d *Delivery) Delivered(delivery bootview.Delivery) {
	now := d.Clock.Now()
	d.Trace.Delivered(delivery)
	if delivery.Kind == bootview.ReceivedReport && delivery.Status < 300 && delivery.Attempt != "" {
		d.notes.reported.Add(delivery.Attempt, now)
	}
	kind, _, _ := strings.Cut(delivery.Entry, "/")
	method, known := bootmethod.ByKind(kind) // what has no boot config, such as an assignment, has no conditions
	if _, counted := method.Conditions[delivery.Kind]; !known || !counted || delivery.Stranger || delivery.Status >= 300 {
		return
	}
	if d.notes.add(delivery, now) {
		d.notes.wakeAfter(d.Patience, delivery.Entry)
	}
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

// add reports whether the delivery is news.
func (n *notes) add(delivery bootview.Delivery, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	kinds := n.byEntry[delivery.Entry]
	if kinds == nil {
		kinds = map[bootview.DeliveryKind]note{}
		n.byEntry[delivery.Entry] = kinds
	}
	if old, known := kinds[delivery.Kind]; known && old.attempt == delivery.Attempt {
		// Without an attempt of ours nothing tells a second read from a second boot.
		if delivery.Kind != bootview.DeliveredIgnition || delivery.Attempt == "" || delivery.Attempt == notOrdered || old.again != "" {
			return false
		}
		old.again, old.heardAgain = delivery.Addr, now
		kinds[delivery.Kind] = old
		return true
	}
	kinds[delivery.Kind] = note{attempt: delivery.Attempt, addr: delivery.Addr, mac: delivery.MAC, at: delivery.Time, heard: now}
	return true
}

func (n *notes) get(entry string, kind bootview.DeliveryKind) (note, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	found, ok := n.byEntry[entry][kind]
	return found, ok
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
