package bootdelivery

import (
	"strings"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bounded"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
)

// conditionsOf names the conditions that a delivery turns to True.
var conditionsOf = map[bootview.DeliveryKind][]string{
	bootview.DeliveredScript:   {bootv1.ConditionIPXEScriptFetched, bootv1.ConditionIPXEScriptDelivered},
	bootview.DeliveredIgnition: {bootv1.ConditionIgnitionDataFetched, bootv1.ConditionIgnitionDataDelivered},
	bootview.DeliveredUKI:      {bootv1.ConditionUKIFetched},
	bootview.DeliveredArtifact: {bootv1.ConditionKernelFetched},
}

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
	n.sources = map[string]*trigger.Source{kindIPXE: {}, kindHTTP: {}}
}

func (n *notes) source(kind string) *trigger.Source { return n.sources[kind] }

// Delivered is the boot server's callback. It notes the delivery and returns at once.
func (d *Delivery) Delivered(delivery bootview.Delivery) {
	now := d.Clock.Now()
	if delivery.Kind == bootview.ReceivedReport && delivery.Status < 300 && delivery.Attempt != "" {
		d.notes.reported.Add(delivery.Attempt, now)
	}
	kind, _, _ := strings.Cut(delivery.Entry, "/")
	if _, counted := conditionsOf[delivery.Kind]; !counted || delivery.Stranger || delivery.Status >= 300 || d.notes.sources[kind] == nil {
		return // what has no boot config, such as an assignment, has no conditions here
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

// add says whether the delivery is news.
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

// takeBack ends the conditions that speak of an earlier boot: a new order resets them. Their message carries the attempt, so
// that this needs no memory.
func (in *source) takeBack(conditions *[]metav1.Condition) {
	taken := metav1.Condition{Status: metav1.ConditionFalse, Reason: "BootOrdered", ObservedGeneration: in.object.GetGeneration()}
	current := in.open()
	for _, types := range conditionsOf {
		for _, t := range types {
			if old := apimeta.FindStatusCondition(*conditions, t); isTrue(old) && !in.speaksOf(old, current) {
				taken.Type = t
				apimeta.SetStatusCondition(conditions, taken)
			}
		}
	}
	again := apimeta.FindStatusCondition(*conditions, bootv1.ConditionIgnitionReadAgain)
	if isTrue(again) && in.config != nil && !strings.HasPrefix(again.Message, deliveryOf(current)+" ") {
		taken.Type = again.Type
		apimeta.SetStatusCondition(conditions, taken)
	}
}

// open is the ID of the attempt that is open; empty: none is.
func (in *source) open() string {
	if in.attempt.Open() {
		return in.attempt.ID
	}
	return ""
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

// speaksOf says whether a delivery's condition is about the boot that is under way, of this attempt or of none.
func (in *source) speaksOf(c *metav1.Condition, current string) bool {
	if in.config == nil && c.ObservedGeneration != in.object.GetGeneration() {
		return false
	}
	return in.endings == 0 && strings.HasPrefix(c.Message, deliveryOf(current))
}

// deliveryOf begins the message of a delivery's condition.
func deliveryOf(attempt string) string {
	if attempt == "" {
		return "Delivered"
	}
	return "Delivered in boot attempt " + attempt
}
