package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/probeboot"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// world is everything that a decision may look at, in so few words that all worlds can be visited.
type world struct {
	parked, ref, claim, retain, maintained, maintenance bool
	owner, taint, delayed                               bool
	failures                                            int
	boot                                                string // "", "probe", "claim"
	stage                                               string // of its attempt: "", "prepared", "ordered", "off", "started"
	clean                                               bool   // that attempt is for cleaning
	record                                              string // "", "clean", "failed", "clean before", "failed before": of another attempt
	inspected, capable, registered, on                  bool
	// asked means that a boot of the probe is asked for, awaited that it has begun and the report on record is an earlier one, reported that a
	// later one is there.
	asked, awaited, reported bool

	// dirty is what no controller knows: that a user has been on the machine, and nothing was wiped since.
	dirty bool
}

// view shows a world to the code.
func (w world) view(later time.Duration) *View {
	v := newView(func(v *View) {
		v.Now, v.Policy.CleanupTimeout, v.Policy.Cleanup = now.Add(later), 24*time.Hour, inspection.CleanMetadata
	})
	v.Policy.DiscoveryRetries, v.Server.Annotations = 1, map[string]string{}
	s := v.Server
	set := func(holds bool, key, value string) {
		if holds {
			s.Annotations[key] = value
		}
	}
	set(w.parked, metalv1.AnnotationParked, "true")
	set(w.parked, metalv1.AnnotationParkedOff, "x")
	set(w.owner, metalv1.AnnotationClaimedBy, "u")
	set(w.failures > 0, annotationDiscoveryFailures, fmt.Sprint(w.failures))
	set(w.delayed, annotationDiscoveryNotBefore, v.Now.Add(time.Minute).Format(time.RFC3339))
	if w.ref {
		s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "c"}
	}
	if w.retain {
		s.Spec.ReclaimPolicy = metalv1.ReclaimPolicyRetain
	}
	if w.taint {
		s.Spec.Taints = []metalv1.Taint{{Key: metalv1.TaintNotClean}}
	}
	if w.maintained {
		s.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "ns", Name: "m"}
	}
	if w.maintained && w.maintenance {
		v.Maintenance = &metalv1.ServerMaintenance{}
	}
	if w.claim {
		v.Claim = &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
		v.Claim.Spec.Power = metalv1.PowerOn
	}
	state := bmc.PowerOff
	if w.on {
		state = bmc.PowerOn
	}
	power(state)(v)
	v.System.Seen = v.Now
	w.bootOf(v)
	w.recordsOf(v)
	return v
}

func (w world) bootOf(v *View) {
	if w.boot == "" {
		return
	}
	v.Server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: w.boot}
	v.BootInternal = w.boot == "probe"
	if w.maintained {
		return // what is booted then is the maintenance's
	}
	var a *bootattempt.Attempt
	at := now.Add(-time.Second)
	if w.stage != "" {
		a = &bootattempt.Attempt{ID: "a", Number: 1}
		if w.clean {
			a.Clean = inspection.CleanMetadata
		}
		if w.stage != "prepared" {
			a.Ordered = &at
		}
		if w.stage == "off" || w.stage == "started" {
			a.Off = &at
		}
		if w.stage == "started" {
			a.Started = &at
		}
	}
	ref := v.Server.Spec.BootConfigurationRef
	bootWith(a, metalv1.ServerBootConfigurationStateReady)(v)
	v.Server.Spec.BootConfigurationRef = ref
	v.Boot.Spec.Image = v.Policy.ProbeImage
}

func (w world) recordsOf(v *View) {
	if w.inspected {
		v.Inspected = "earlier"
	}
	if w.registered {
		v.Inspected = "a"
	}
	if w.awaited || w.reported {
		b := probeboot.Boot{ID: "r", Begun: now, Before: "earlier"}
		v.Server.Annotations[metalv1.AnnotationProbeBooted] = b.String()
	}
	if w.reported {
		v.Inspected = "later"
	}
	if w.asked {
		v.Server.Annotations[metalv1.AnnotationProbeBoot] = "another"
	}
	if w.capable {
		v.Capabilities = both
	}
	if w.record != "" && w.owner {
		outcome, id := machinerecord.NotClean, "a"
		if strings.HasPrefix(w.record, "clean") {
			outcome = machinerecord.Clean
		}
		if strings.HasSuffix(w.record, "before") {
			id = "z"
		}
		v.Cleaned = &machinerecord.CleanupMeta{Attempt: id, Mode: inspection.CleanMetadata, Outcome: outcome}
	}
}

// apply is what act does with a plan, in this world.
func (w world) apply(v *View, p Plan) world {
	if p.Prepare {
		w.boot, w.stage, w.clean, w.registered = "probe", "prepared", p.Clean != "", false
		w.record = before(w.record)
	}
	if p.Remove && w.boot == "probe" {
		w.stage, w.clean, w.registered = "", false, false
		w.record = before(w.record)
	}
	if p.Forget {
		w.record = ""
	}
	if len(p.Edits) > 0 {
		w = w.edited(v, p.Edits)
	}
	if a := p.Attempt; a != nil {
		switch {
		case a.Started != nil:
			w.stage = "started"
		case a.Off != nil:
			w.stage = "off"
		default:
			w.stage = "ordered"
		}
	}
	if c := p.Command; c != nil {
		if w.on = c.Kind == fleet.PowerOn; w.on && w.boot == "claim" {
			w.dirty = true
		}
	}
	return w
}

func before(record string) string {
	if record == "clean" || record == "failed" {
		return record + " before"
	}
	return record
}

func (w world) edited(v *View, edits []Edit) world {
	s := v.Server
	apply(s, edits)
	if b := probeboot.Of(s); b != nil && b.ID == "another" {
		w.asked, w.awaited, w.reported = false, true, false
	} else if !b.Pending() {
		w.awaited, w.reported = false, false
	}
	w.parked = s.Annotations[metalv1.AnnotationParked] != ""
	if w.owner = s.Annotations[metalv1.AnnotationClaimedBy] != ""; !w.owner {
		w.record = "" // it is of an owner
	}
	w.failures = discoveryFailures(s)
	w.delayed = s.Annotations[annotationDiscoveryNotBefore] != ""
	w.ref, w.taint, w.maintained = s.Spec.ServerClaimRef != nil, len(s.Spec.Taints) > 0, s.Spec.ServerMaintenanceRef != nil
	if s.Spec.BootConfigurationRef == nil {
		w.boot, w.stage, w.clean, w.registered = "", "", false, false
		w.record = before(w.record)
	}
	return w
}

// moves are all that can happen to a world, by name.
func (w world) moves() map[string]world {
	next := map[string]world{}
	move := func(name string, allowed bool, change func(*world)) {
		if allowed {
			n := w
			change(&n)
			next[name] = n
		}
	}
	for name, later := range map[string]time.Duration{"the manager decides": 0, "the manager decides a day later": 25 * time.Hour} {
		v := w.view(later)
		_, p := decide(v)
		next[name] = w.apply(v, p)
		if p.Order {
			n := next[name]
			n.stage = "off"
			next[name+", and orders what it prepares"] = n
		}
	}
	for _, operation := range []string{metalv1.OperationPark, metalv1.OperationUnpark, metalv1.OperationRetry} {
		v := w.view(0)
		if p, done := decideOperation(v, operation); done {
			next["operation "+operation] = w.edited(v, p.Edits)
		}
	}
	state := derive(w.view(0)).state
	probing := w.boot == "probe" && w.stage == "started"
	move("somebody presses the button", true, func(n *world) { n.on = !n.on })
	move("time passes", w.delayed, func(n *world) { n.delayed = false })
	move("the reclaim policy changes", true, func(n *world) { n.retain = !n.retain })
	move("a claim takes it", state == metalv1.ServerStateAvailable && !w.on, func(n *world) {
		n.ref, n.claim, n.owner, n.boot, n.stage, n.clean = true, true, true, "claim", "", false
	})
	move("the same claim takes it again, after a cleanup", state == metalv1.ServerStateAvailable && !w.on, func(n *world) {
		n.ref, n.claim, n.owner, n.boot, n.stage, n.clean, n.record = true, true, true, "claim", "", false, "clean before"
	})
	move("the claim ends", w.claim, func(n *world) {
		if n.claim = false; n.boot == "claim" {
			n.stage = ""
		}
	})
	move("its reference is removed by hand", w.ref, func(n *world) { n.ref, n.claim = false, false })
	move("the probe reports", probing && !w.clean, func(n *world) {
		n.inspected = true
		n.awaited, n.reported = false, w.awaited || w.reported
	})
	move("a boot of the probe is asked for", !w.asked && !w.awaited, func(n *world) { n.asked = true })
	move("the probe registers to clean", probing && w.clean, func(n *world) { n.inspected, n.registered, n.capable = true, true, true })
	move("a probe registers that cannot clean", probing && w.clean, func(n *world) { n.inspected, n.registered, n.capable = true, true, false })
	wiping := probing && w.clean && w.registered && w.capable && w.owner && !w.ref && w.record != "clean" && w.record != "failed"
	move("the probe has cleaned", wiping, func(n *world) { n.record, n.dirty = "clean", false })
	move("the probe has failed to clean", wiping, func(n *world) { n.record = "failed" })
	// What the controller of maintenances allows is its own; this is its rule.
	idle := state == metalv1.ServerStateInitial && w.boot == "" || state == metalv1.ServerStateAvailable || state == metalv1.ServerStateReleased ||
		state == metalv1.ServerStateError || w.claim && w.ref && !w.parked
	move("a maintenance begins", idle && !w.maintained, func(n *world) { n.maintained, n.maintenance = true, true })
	move("the maintenance ends", w.maintained, func(n *world) { n.maintenance = false })
	return next
}

// keptWhenDeleted reports whether a server that somebody deletes is kept for now.
func keptWhenDeleted(s *metalv1.Server) bool {
	s.DeletionTimestamp = &metav1.Time{Time: now}
	return deletionWaits(s).Type != ""
}

// way is a transition without why.
type way struct {
	from, to metalv1.ServerState
	guard    string
}

// TestTheTableIsWhatCanHappen visits every world that can be reached from a new server, in every way. It finds the
// transitions of the table, and each of them; and no server that is Available while it is dirty.
func TestTheTableIsWhatCanHappen(t *testing.T) {
	found := map[way]string{}
	cameBy := map[world]string{{}: "found"}
	for queue := []world{{}}; len(queue) > 0; queue = queue[1:] {
		w := queue[0]
		from := deriveRule(w.view(0))
		if from.phase.state == metalv1.ServerStateAvailable && w.dirty {
			t.Fatalf("Available and dirty, by %s: %+v", cameBy[w], w)
		}
		if w.dirty && !keptWhenDeleted(w.view(0).Server) {
			t.Fatalf("dirty, and gone if somebody deletes it, by %s: %+v", cameBy[w], w)
		}
		moves := w.moves()
		for _, name := range slices.Sorted(maps.Keys(moves)) {
			n := moves[name]
			if _, known := cameBy[n]; !known {
				cameBy[n] = name
				queue = append(queue, n)
			}
			if to := deriveRule(n.view(0)); to.phase.state != from.phase.state {
				found[way{from.phase.state, to.phase.state, to.guard}] = fmt.Sprintf("%s: %+v", name, w)
			}
		}
	}
	t.Logf("%d worlds", len(cameBy))
	for _, known := range transitions {
		w := way{known.from, known.to, known.guard}
		if _, possible := found[w]; !possible {
			t.Errorf("in the table, and cannot happen: %v", w)
		}
		delete(found, w)
	}
	for w, how := range found {
		t.Errorf("can happen, and is not in the table: %v\n\tby %s", w, how)
	}
}

func TestNoWayLeadsAroundCleanup(t *testing.T) {
	for _, known := range transitions {
		if known.to == metalv1.ServerStateAvailable && (known.from == metalv1.ServerStateReserved || known.from == metalv1.ServerStateReleased) {
			t.Errorf("%+v", known)
		}
	}
}

func TestEveryTransitionNamesARule(t *testing.T) {
	byGuard := map[string]phase{}
	for _, r := range rules() {
		byGuard[r.guard] = r.phase
	}
	known := map[metalv1.ServerState]bool{}
	for _, s := range states {
		known[s.state] = true
	}
	for _, w := range transitions {
		if p, ok := byGuard[w.guard]; !ok || p.state != w.to || !known[w.from] || !known[w.to] || w.because == "" {
			t.Errorf("%+v", w)
		}
	}
}
