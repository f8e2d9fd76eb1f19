package server

import (
	"fmt"
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// phase is where a server is in its life. It is finer than the states of the API: releasing is the end of Reserved.
type phase struct {
	state     metalv1.ServerState
	releasing bool
}

var (
	initial     = phase{state: metalv1.ServerStateInitial}
	discovery   = phase{state: metalv1.ServerStateDiscovery}
	available   = phase{state: metalv1.ServerStateAvailable}
	reserved    = phase{state: metalv1.ServerStateReserved}
	releasing   = phase{state: metalv1.ServerStateReserved, releasing: true}
	released    = phase{state: metalv1.ServerStateReleased}
	cleanup     = phase{state: metalv1.ServerStateCleanup}
	maintenance = phase{state: metalv1.ServerStateMaintenance}
	parked      = phase{state: metalv1.ServerStateParked}
	failed      = phase{state: metalv1.ServerStateError}
)

// rule says in which phase a server is if its guard holds and no earlier one does.
type rule struct {
	guard string
	holds func(*View) bool
	phase phase
}

// rules are evaluated in their order, on durable facts alone. The last always holds.
func rules() []rule {
	return []rule{
		{"parked", (*View).isParked, parked},
		{"maintained", func(v *View) bool { return v.Server.Spec.ServerMaintenanceRef != nil }, maintenance},
		{"claimed", func(v *View) bool { return v.Server.Spec.ServerClaimRef != nil && v.Claim != nil }, reserved},
		{"retained", (*View).isRetained, released},
		{"claim gone", func(v *View) bool { return v.Server.Spec.ServerClaimRef != nil }, releasing},
		{"not clean", func(v *View) bool { return v.claimedBy() != "" && v.hasTaint(metalv1.TaintNotClean) }, failed},
		{"dirty", func(v *View) bool { return v.claimedBy() != "" }, cleanup},
		{"inspected", (*View).inspected, available},
		{"retries spent", func(v *View) bool { return discoveryFailures(v.Server) > v.Policy.DiscoveryRetries }, failed},
		{"probe prepared", func(v *View) bool { return v.BootInternal }, discovery},
		{"new", func(*View) bool { return true }, initial},
	}
}

// derive finds the phase of a server.
func derive(v *View) phase { return deriveRule(v).phase }

func deriveRule(v *View) (last rule) {
	for _, last = range rules() {
		if last.holds(v) {
			break
		}
	}
	return last
}

func (v *View) isParked() bool {
	return v.Server.Annotations[metalv1.AnnotationParked] == metalv1.AnnotationTrue
}

// isRetained reports whether the claim is gone and the machine, which is off, is kept for its owner.
func (v *View) isRetained() bool {
	spec := &v.Server.Spec
	return spec.ServerClaimRef != nil && spec.ReclaimPolicy == metalv1.ReclaimPolicyRetain && (v.System == nil || v.settledOff())
}

//go:generate env CGO_ENABLED=0 go test -trimpath -buildvcs=false -vet=off -run ^TestThePageOfTheStatesIsWhatTheCodeSays$ -update .

// stateInfo describes a state for a newcomer.
type stateInfo struct {
	state       metalv1.ServerState
	means, does string
	// usual is how long a server usually stays; condition Late tells of longer. Zero: any time.
	usual time.Duration
	file  string
}

// states are all states, in the order of a server's life.
var states = []stateInfo{
	{metalv1.ServerStateInitial, "known, not inspected yet", "waits for the BMC's inventory, and for the delay after a discovery that timed out", 5 * time.Minute, "decide_discovery.go"},
	{metalv1.ServerStateDiscovery, "in-band inspection running", "boots the probe from power off and waits for its report", 15 * time.Minute, "decide_discovery.go"},
	{metalv1.ServerStateAvailable, "clean, off, free", "switches the machine off if it is on; removes the objects of discovery; begins another one on request", 0, "decide_idle.go"},
	{metalv1.ServerStateReserved, "belongs to a claim", "boots what the claim names; when the claim is gone, switches the machine off", 0, "decide_reserved.go"},
	{metalv1.ServerStateReleased, "kept as it is for its owner", "nothing", 0, "decide_idle.go"},
	{metalv1.ServerStateCleanup, "cleanup running", "boots the probe, which wipes the disks; restores boot order and BIOS defaults on request", time.Hour, "decide_cleanup.go"},
	{metalv1.ServerStateMaintenance, "a maintenance has it", "does what the ServerMaintenance asks for", 0, "decide_maintenance.go"},
	{metalv1.ServerStateParked, "left alone on request", "shuts the machine down once", 0, "decide_idle.go"},
	{metalv1.ServerStateError, "needs a person; a condition says why", "observes", 0, "decide_idle.go"},
}

// usual is how long a server usually stays in a state.
func usual(state metalv1.ServerState) (time.Duration, bool) {
	for _, s := range states {
		if s.state == state {
			return s.usual, s.usual > 0
		}
	}
	return 0, false
}

// transition is a way from one state to another: guard is the rule that then holds, because is what causes it.
type transition struct {
	from, to       metalv1.ServerState
	guard, because string
}

const (
	unparked = "operation unpark"
	regained = "the maintenance ends"
	toPark   = "operation park"
	begins   = "a maintenance begins"
)

// transitions are all there are. They are not looked up: the state is derived from facts, and these follow from the rules and from what
// each state does. A test visits all facts and finds exactly these transitions. None leads from Reserved or Released to Available.
var transitions = []transition{
	{metalv1.ServerStateInitial, metalv1.ServerStateDiscovery, "probe prepared", "the BMC has reported its inventory, and the boot of the probe is prepared"},
	{metalv1.ServerStateInitial, metalv1.ServerStateMaintenance, "maintained", begins},
	{metalv1.ServerStateInitial, metalv1.ServerStateParked, "parked", toPark},
	{metalv1.ServerStateDiscovery, metalv1.ServerStateAvailable, "inspected", "the report of the probe is on record"},
	{metalv1.ServerStateDiscovery, metalv1.ServerStateInitial, "new", "no report came in time"},
	{metalv1.ServerStateDiscovery, metalv1.ServerStateError, "retries spent", "no report came in time, and no retry is left"},
	{metalv1.ServerStateDiscovery, metalv1.ServerStateParked, "parked", toPark},
	{metalv1.ServerStateAvailable, metalv1.ServerStateReserved, "claimed", "a claim takes it"},
	{metalv1.ServerStateAvailable, metalv1.ServerStateMaintenance, "maintained", begins},
	{metalv1.ServerStateAvailable, metalv1.ServerStateParked, "parked", toPark},
	{metalv1.ServerStateAvailable, metalv1.ServerStateInitial, "new", "a boot of the probe is asked for, by a rollout or a person"},
	{metalv1.ServerStateReserved, metalv1.ServerStateCleanup, "dirty", "the claim is gone and the machine is off; or its reference is removed by hand"},
	{metalv1.ServerStateReserved, metalv1.ServerStateReleased, "retained", "the claim is gone, the machine is off, and the reclaim policy is Retain"},
	{metalv1.ServerStateReserved, metalv1.ServerStateMaintenance, "maintained", begins},
	{metalv1.ServerStateReserved, metalv1.ServerStateParked, "parked", toPark},
	{metalv1.ServerStateReleased, metalv1.ServerStateReserved, "claim gone", "somebody switches the machine on, or the reclaim policy becomes Recycle"},
	{metalv1.ServerStateReleased, metalv1.ServerStateCleanup, "dirty", "serverClaimRef is removed by hand"},
	{metalv1.ServerStateReleased, metalv1.ServerStateMaintenance, "maintained", begins},
	{metalv1.ServerStateCleanup, metalv1.ServerStateAvailable, "inspected", "the record says that it is clean"},
	{metalv1.ServerStateCleanup, metalv1.ServerStateError, "not clean", "a disk could not be wiped, or no record came in time"},
	{metalv1.ServerStateMaintenance, metalv1.ServerStateInitial, "new", regained},
	{metalv1.ServerStateMaintenance, metalv1.ServerStateAvailable, "inspected", regained},
	{metalv1.ServerStateMaintenance, metalv1.ServerStateReserved, "claimed", regained},
	{metalv1.ServerStateMaintenance, metalv1.ServerStateReserved, "claim gone", regained + ", and the claim is gone"},
	{metalv1.ServerStateMaintenance, metalv1.ServerStateReleased, "retained", regained},
	{metalv1.ServerStateMaintenance, metalv1.ServerStateCleanup, "dirty", regained + ", and the reference to the claim was removed by hand"},
	{metalv1.ServerStateMaintenance, metalv1.ServerStateError, "not clean", regained},
	{metalv1.ServerStateMaintenance, metalv1.ServerStateError, "retries spent", regained},
	{metalv1.ServerStateParked, metalv1.ServerStateInitial, "new", unparked},
	{metalv1.ServerStateParked, metalv1.ServerStateDiscovery, "probe prepared", unparked + ", and the probe was not booted yet"},
	{metalv1.ServerStateParked, metalv1.ServerStateAvailable, "inspected", unparked},
	{metalv1.ServerStateParked, metalv1.ServerStateReserved, "claimed", unparked},
	{metalv1.ServerStateParked, metalv1.ServerStateReserved, "claim gone", unparked + ", and the claim is gone"},
	{metalv1.ServerStateParked, metalv1.ServerStateReleased, "retained", unparked + ", and the claim is gone"},
	{metalv1.ServerStateParked, metalv1.ServerStateCleanup, "dirty", unparked + ", and the reference to the claim was removed by hand"},
	{metalv1.ServerStateError, metalv1.ServerStateInitial, "new", "operation retry"},
	{metalv1.ServerStateError, metalv1.ServerStateCleanup, "dirty", "operation retry"},
	{metalv1.ServerStateError, metalv1.ServerStateMaintenance, "maintained", begins},
}

// statesPage is docs/server-states.md.
func statesPage() string {
	var b strings.Builder
	b.WriteString("# The states of a server\n\n<!-- Generated from internal/controller/server/states.go by `make generate`. -->\n\n" +
		"The last column names the file in `internal/controller/server` that decides in that state. Farrier never reads the state from\n" +
		"status: it derives it each time from durable facts, so that a wiped status, a restart or another leader changes nothing.\n\n" +
		"```mermaid\nstateDiagram-v2\n    [*] --> Initial\n")
	for i, t := range transitions {
		if i > 0 && transitions[i-1].from == t.from && transitions[i-1].to == t.to {
			continue // by another guard
		}
		fmt.Fprintf(&b, "    %s --> %s: %s\n", t.from, t.to, t.guard)
	}
	b.WriteString("```\n\n| state | means | does | usually | code |\n|---|---|---|---|---|\n")
	for _, s := range states {
		usually := "any time"
		if s.usual > 0 {
			usually = "up to " + strings.TrimSuffix(strings.TrimSuffix(s.usual.String(), "0s"), "0m")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | `%s` |\n", s.state, s.means, s.does, usually, s.file)
	}
	b.WriteString("\nA server that stays longer than usual has condition `Late`, gets an event, and counts in the metric `farrier_servers_late`. So does, in any\nstate but Parked, a server whose machine does not follow a power command within 5 minutes.\n\n## Which state a server is in\n\nThe first that holds:\n\n")
	for i, r := range rules() {
		fmt.Fprintf(&b, "%d. *%s*: %s\n", i+1, r.guard, r.phase.state)
	}
	b.WriteString("\n## Transitions\n\n| from | to | then holds | because |\n|---|---|---|---|\n")
	for _, t := range transitions {
		fmt.Fprintf(&b, "| %s | %s | *%s* | %s |\n", t.from, t.to, t.guard, t.because)
	}
	return b.String()
}
