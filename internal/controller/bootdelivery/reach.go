package bootdelivery

import (
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootstream"
)

// A machine is switched on after somebody who answers it has its boot. Where boot servers without Kubernetes answer, having it in the view is not
// enough: one of the machine's site has to use it. The server's controller waits for that for ten seconds, and then goes on (package server),
// because a boot server that is away may be back before the machine asks. A condition says so.

// Stream tells how far entries have come at boot servers without Kubernetes; bootstream.Server does.
type Stream interface {
	Reach(key string) (bootstream.Reach, string)
	Forget(key string)
	Refusals(key string) []bootstream.RefusedBy
}

// reachDelay is after how long without a boot server status says so. It is as long as the server's controller waits.
const reachDelay = 10 * time.Second

// awaiting are the attempts of which this process waits for boot servers. Its zero value has none.
type awaiting struct {
	mu sync.Mutex
	// by has an attempt under the name of each of its entries.
	by map[string]*waiting
	// said are the entries whose status says that no boot server uses them.
	said map[string]struct{}
}

func (a *awaiting) say(name string, unused bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !unused {
		delete(a.said, name)
		return
	}
	if a.said == nil {
		a.said = map[string]struct{}{}
	}
	a.said[name] = struct{}{}
}

func (a *awaiting) says(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, said := a.said[name]
	return said
}

// waiting is an attempt that boot servers do not have yet.
type waiting struct {
	attempt, server string
	entries         []string
}

func (a *awaiting) add(w *waiting) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[string]*waiting{}
	}
	for _, name := range w.entries {
		a.by[name] = w
	}
}

func (a *awaiting) of(name string) *waiting {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.by[name]
}

// end forgets what an entry waits for, with the others of its attempt, and returns their names.
func (a *awaiting) end(name string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.by[name]
	if w == nil {
		return nil
	}
	for _, entry := range w.entries {
		if a.by[entry] == w {
			delete(a.by, entry)
		}
	}
	return w.entries
}

// streamed reports whether boot servers without Kubernetes answer the machine of an entry.
func (d *Delivery) streamed(name string) bool {
	if d.Stream == nil {
		return false
	}
	site, known := d.View.SiteOf(name)
	return known && d.Streamed(site)
}

// reached reports whether boot servers have all entries of an attempt. If not, Reached finds out when they have.
func (d *Delivery) reached(entries []string, attempt, server string) bool {
	if !d.streamed(entries[0]) {
		return true
	}
	w := &waiting{attempt, server, entries}
	d.awaiting.add(w) // before it asks, so that nothing is missed
	if !d.has(w) {
		return false
	}
	d.stopAwaiting(entries[0])
	return true
}

// has reports whether boot servers have all entries of an attempt.
func (d *Delivery) has(w *waiting) bool {
	for _, name := range w.entries {
		if reach, _ := d.Stream.Reach(name); reach != bootstream.Reached {
			return false
		}
	}
	return true
}

func (d *Delivery) stopAwaiting(name string) {
	for _, entry := range d.awaiting.end(name) {
		d.Stream.Forget(entry)
	}
}

// Reached is told of entries that a boot server has taken or refused (bootstream.ServerOptions). It does not block.
func (d *Delivery) Reached(keys []string) {
	for _, key := range keys {
		if w := d.awaiting.of(key); w != nil && d.has(w) {
			d.stopAwaiting(key)
			d.Acknowledge(w.attempt, w.server)
		}
		if d.awaiting.says(key) || len(d.Stream.Refusals(key)) > 0 {
			d.notes.wake(key)
		}
	}
}

// Acknowledge is told that those who answer a machine have its boot.
func (d *Delivery) Acknowledge(attempt, server string) {
	if d.attempts.add(attempt) {
		d.WakeServer(server)
	}
}

// describeReach says in status that no boot server uses a boot config, as long as that is so. It returns for how long it is too early to say.
func (d *Delivery) describeReach(in *source, conditions *[]metav1.Condition) (early time.Duration) {
	reason, message, early := d.unreached(in, apimeta.FindStatusCondition(*conditions, bootv1.ConditionBootServerReached))
	d.awaiting.say(in.name, reason != "")
	if reason == "" {
		apimeta.RemoveStatusCondition(conditions, bootv1.ConditionBootServerReached)
		return early
	}
	apimeta.SetStatusCondition(conditions, metav1.Condition{
		Type: bootv1.ConditionBootServerReached, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: in.object.GetGeneration(),
	})
	return 0
}

// unreached says why no boot server uses an entry; no reason: one does, or need not. now is what status says.
func (d *Delivery) unreached(in *source, now *metav1.Condition) (reason, message string, early time.Duration) {
	if d.Stream == nil {
		return "", "", 0
	}
	if refused := d.Stream.Refusals(in.name); len(refused) > 0 {
		return bootv1.ReasonRefused, bootstream.Explain(refused), 0
	}
	w := d.awaiting.of(in.name)
	if w == nil || !in.attempt.Open() || in.attempt.Started != nil && now == nil {
		return "", "", 0
	}
	if wait := in.attempt.Ordered.Add(reachDelay).Sub(d.Clock.Now()); wait > 0 {
		return "", "", wait
	}
	if reach, _ := d.Stream.Reach(in.name); reach == bootstream.NoFollower {
		return bootv1.ReasonNoBootServer, "no boot server of the machine's site is connected to the manager; the boot goes on, and fails if none has it when the machine asks", 0
	}
	return bootv1.ReasonNotAcknowledged, "no boot server of the machine's site has confirmed that it has this boot; the boot goes on, and fails if none has it when the machine asks", 0
}
