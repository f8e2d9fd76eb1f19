package rollout

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Reason is why an item waits.
type Reason string

// Why items wait.
const (
	Paused       Reason = "Paused"
	Aborted      Reason = "Aborted"
	FailureLimit Reason = "FailureLimitReached"
	WindowClosed Reason = "WindowClosed"
	WaveRuns     Reason = "WaveInProgress"
	AtGate       Reason = "WaitingForGate"
	GateShut     Reason = "GateNotPassed"
	Unwell       Reason = "ServersInTrouble"
	Baking       Reason = "Baking"
	WaveFull     Reason = "WaveFull"
	Risk         Reason = "MayStillFail"
	Unready      Reason = "NotReady"
	Unhealthy    Reason = "MachineUnavailable"
	FleetBudget  Reason = "FleetBudget"
	ZoneBudget   Reason = "ZoneBudget"
	RackBudget   Reason = "RackBudget"
)

// Wait is why an item does not begin now.
type Wait struct {
	Reason Reason
	// Message says more, for people.
	Message string
}

// Decision is what becomes of the items of a change.
type Decision struct {
	// Begin are the items that may begin now, in their order.
	Begin []string
	// Waits says of each other one that has not begun why not.
	Waits map[string]Wait
	// Wave is the number of the wave, from 1, of Waves of them.
	Wave, Waves int
	// First says that the first items of the wave may begin now.
	First bool
	// Held is what keeps all items from beginning, nil: nothing does.
	Held *Wait
	// Done, Begun, Failed and All count items, those of Begin among the begun.
	Done, Begun, Failed, All int
	// Gates says who waits at which gate, and whom a gate has skipped, for people; empty: nobody.
	Gates string
	// Again is when time alone changes the decision; zero: never.
	Again time.Time
}

// Decide says which items may begin.
func Decide(p Policy, facts *Facts) *Decision {
	come := progressOf(facts.Items)
	w := come.waveOf(p.Waves)
	d := &Decision{
		Waits: map[string]Wait{}, Wave: w.number + 1, Waves: len(p.Waves) + 1,
		Done: come.done, Begun: come.begun, Failed: come.failed, All: come.all, Gates: come.gateMessage(),
	}
	if come.touched < come.all {
		d.Held, d.Again = p.holds(come, w, facts.Now)
	}
	b := newBudget(p, facts)
	stop := p.stops(d, come, w)
	for i := range facts.Items {
		item := &facts.Items[i]
		if item.Stand != Waiting {
			continue
		}
		wait := stop
		if wait == nil && item.Unready {
			wait = &Wait{Unready, "what it has to do is being found out"}
		}
		if wait == nil {
			wait = b.wait(item)
		}
		if wait != nil {
			d.Waits[item.ID] = *wait
			continue
		}
		d.Begin = append(d.Begin, item.ID)
		d.Begun++
		come.begun++
		come.touched++
		b.takeAll(item.Machines)
		stop = p.stops(d, come, w)
	}
	d.First = w.fresh && len(d.Begin) > 0
	return d
}

// holds says what keeps all items from beginning.
func (p Policy) holds(come *progress, w wave, now time.Time) (*Wait, time.Time) {
	if p.Held != "" {
		return &Wait{p.Held, "a person has said so"}, time.Time{}
	}
	if wait := p.limit(come); wait != nil {
		return wait, time.Time{}
	}
	if is, next := open(p.Windows, now); !is {
		return &Wait{WindowClosed, "the next maintenance window opens " + next.Format(time.RFC3339)}, next
	}
	if reason, at, ready := come.baked(w, p.Accepted, now); !ready {
		return &Wait{reason, come.message(reason, w, at)}, at
	}
	return nil, time.Time{}
}

// message says why a wave may not begin, for people.
func (p *progress) message(reason Reason, w wave, at time.Time) string {
	switch reason {
	case Baking:
		return fmt.Sprintf("wave %d may begin %s", w.number+1, at.UTC().Format(time.RFC3339))
	case Unwell:
		return fmt.Sprintf("%d that are done have servers in trouble", p.unwell)
	case AtGate:
		return p.gateMessage()
	case GateShut:
		return fmt.Sprintf("%d of the wave before have not passed a gate: %s", p.refused, classes(p))
	}
	return p.runsMessage()
}

// limit says which limit of failures is reached.
func (p Policy) limit(come *progress) *Wait {
	if p.Failures.IsSet() && come.failed-p.Accepted >= p.Failures.floor(come.all) {
		return &Wait{FailureLimit, fmt.Sprintf("%d have failed, the limit is %s: %s", come.failed, p.Failures, classes(come))}
	}
	for _, class := range slices.Sorted(maps.Keys(p.Classes)) {
		if n := come.classes[class]; n > 0 && n-p.Accepted >= p.Classes[class] {
			return &Wait{FailureLimit, fmt.Sprintf("%d have failed because of %s, the limit is %d", n, class, p.Classes[class])}
		}
	}
	return nil
}

func classes(come *progress) string {
	text := ""
	for _, class := range slices.Sorted(maps.Keys(come.classes)) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", come.classes[class], class)
	}
	return text
}

// stops says why no further item may begin, whichever it is; nil: one may.
func (p Policy) stops(d *Decision, come *progress, w wave) *Wait {
	if d.Held != nil {
		return d.Held
	}
	if come.touched >= w.upTo {
		return &Wait{WaveFull, fmt.Sprintf("wave %d ends with %d of %d", w.number+1, w.upTo, come.all)}
	}
	if risk := p.Failures.floor(come.all) + come.canaries(p.Waves); p.Failures.IsSet() && come.begun+come.failed-p.Accepted >= risk {
		return &Wait{Risk, fmt.Sprintf("%d are in progress, and all of them may fail: with those that have, that is what the limit of failures and the first wave allow", come.begun)}
	}
	return nil
}

// wait says why the machines of one item must not become unavailable now; nil: they may.
func (b *budget) wait(item *Item) *Wait {
	if name, is := b.unavailable(item.Machines); is {
		return &Wait{Unhealthy, name + " is unavailable already"}
	}
	at, full := b.lacks(item.Machines)
	if !full {
		return nil
	}
	where := "the fleet"
	if at.name != "" {
		where = at.name
	}
	return &Wait{at.kind, fmt.Sprintf("%d machines of %s are unavailable, and %d may be", b.places[at].away, where, b.places[at].limit)}
}
