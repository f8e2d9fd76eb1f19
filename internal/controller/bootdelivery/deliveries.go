package bootdelivery

import (
	"strings"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/wake"
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
	attempt, addr string
	at            time.Time
	// again is who read ignition a second time in the attempt.
	again string
}

// notes collects deliveries between two reconciles. Only the first of an attempt is news.
type notes struct {
	mu      sync.Mutex
	byEntry map[string]map[bootview.DeliveryKind]note
	// ended counts boots without an attempt that are over, and generations are those that a boot config was last seen in.
	ended       map[string]int
	generations map[string]int64
	sources     map[string]*wake.Source
}

func (n *notes) init() {
	n.byEntry, n.ended, n.generations = map[string]map[bootview.DeliveryKind]note{}, map[string]int{}, map[string]int64{}
	n.sources = map[string]*wake.Source{kindIPXE: {}, kindHTTP: {}}
}

func (n *notes) source(kind string) *wake.Source { return n.sources[kind] }

// Delivered is the boot server's callback. It notes the delivery and returns at once.
func (d *Delivery) Delivered(delivery bootview.Delivery) {
	kind, _, _ := strings.Cut(delivery.Entry, "/")
	if _, counted := conditionsOf[delivery.Kind]; !counted || delivery.Status >= 300 || d.notes.sources[kind] == nil {
		return // what has no boot config, such as an assignment, has no conditions here
	}
	if d.notes.add(delivery) {
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
func (n *notes) add(delivery bootview.Delivery) bool {
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
		old.again = delivery.Addr
		kinds[delivery.Kind] = old
		return true
	}
	kinds[delivery.Kind] = note{attempt: delivery.Attempt, addr: delivery.Addr, at: delivery.Time}
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

// describeDeliveries turns notes into conditions, and takes those back that speak of an earlier boot: a new
// order resets them. The message carries the attempt, so that this needs no memory.
func (d *Delivery) describeDeliveries(in *source, conditions *[]metav1.Condition) {
	current := ""
	if in.attempt.Open() {
		current = in.attempt.ID
	}
	for kind, types := range conditionsOf {
		made, noted := d.notes.get(in.name, kind)
		for _, t := range types {
			old := apimeta.FindStatusCondition(*conditions, t)
			said := old != nil && old.Status == metav1.ConditionTrue
			if said && !in.speaksOf(old, current) {
				apimeta.SetStatusCondition(conditions, metav1.Condition{
					Type: t, Status: metav1.ConditionFalse, Reason: "BootOrdered", ObservedGeneration: in.object.GetGeneration(),
				})
				said = false
			}
			if !said && noted && (in.config == nil || made.attempt == current) {
				apimeta.SetStatusCondition(conditions, metav1.Condition{
					Type: t, Status: metav1.ConditionTrue, Reason: "Delivered", ObservedGeneration: in.object.GetGeneration(),
					Message: deliveryOf(current) + " to " + made.addr, LastTransitionTime: metav1.NewTime(made.at),
				})
			}
		}
	}
}

// speaksOf says whether a delivery's condition is about the boot that is under way, of this attempt or of none.
func (in *source) speaksOf(c *metav1.Condition, current string) bool {
	if in.config == nil && c.ObservedGeneration != in.object.GetGeneration() {
		return false
	}
	return in.endings == 0 && strings.HasPrefix(c.Message, deliveryOf(current))
}

// describeReadAgain says that ignition was read a second time in the open attempt, and takes it back with the next. It
// may be the machine, trying again, or a stranger who came first: both addresses are told.
func (d *Delivery) describeReadAgain(in *source, conditions *[]metav1.Condition) {
	current := ""
	if in.attempt.Open() {
		current = in.attempt.ID
	}
	made, _ := d.notes.get(in.name, bootview.DeliveredIgnition)
	old := apimeta.FindStatusCondition(*conditions, bootv1.ConditionIgnitionReadAgain)
	said := old != nil && old.Status == metav1.ConditionTrue
	c := metav1.Condition{Type: bootv1.ConditionIgnitionReadAgain, ObservedGeneration: in.object.GetGeneration()}
	switch {
	case current != "" && made.attempt == current && made.again != "":
		c.Status, c.Reason = metav1.ConditionTrue, "ReadAgain"
		c.Message = deliveryOf(current) + " to " + made.addr + ", and again to " + made.again
	case said && in.config != nil && !strings.HasPrefix(old.Message, deliveryOf(current)+" "):
		c.Status, c.Reason = metav1.ConditionFalse, "BootOrdered"
	default:
		return
	}
	apimeta.SetStatusCondition(conditions, c)
}

// deliveryOf begins the message of a delivery's condition.
func deliveryOf(attempt string) string {
	if attempt == "" {
		return "Delivered"
	}
	return "Delivered in boot attempt " + attempt
}
