package server

import (
	"fmt"
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// phase is where a server is in its life. It is finer than the states of the API:
// releasing is the end of Reserved.
type phase struct {
	state  metalv1.ServerState
	decide func(*View) Plan
}

var (
	initial     = phase{metalv1.ServerStateInitial, decideInitial}
	discovery   = phase{metalv1.ServerStateDiscovery, decideDiscovery}
	available   = phase{metalv1.ServerStateAvailable, decideAvailable}
	reserved    = phase{metalv1.ServerStateReserved, decideReserved}
	releasing   = phase{metalv1.ServerStateReserved, decideReleasing}
	released    = phase{metalv1.ServerStateReleased, decideReleased}
	cleanup     = phase{metalv1.ServerStateCleanup, decideCleanup}
	maintenance = phase{metalv1.ServerStateMaintenance, decideMaintenance}
	parked      = phase{metalv1.ServerStateParked, decideParked}
	failed      = phase{metalv1.ServerStateError, decideError}
)

// rule says in which phase a server is if a guard holds and none before it does.
type rule struct {
	guard string
	holds func(*View) bool
	phase phase
}

// rules are asked in their order, and each of durable facts alone. The last always holds.
func rules() []rule {
	return []rule{
		{"parked", (*View).isParked, parked},
		{"maintained", func(v *View) bool { return v.Server.Spec.ServerMaintenanceRef != nil }, maintenance},
		{"claimed", func(v *View) bool { return v.Server.Spec.ServerClaimRef != nil && v.Claim != nil }, reserved},
		{"retained", (*View).isRetained, released},
		{"claim gone", func(v *View) bool { return v.Server.Spec.ServerClaimRef != nil }, releasing},
		{"not clean", func(v *View) bool { return v.claimedBy() != "" && v.hasTaint(metalv1.TaintNotClean) }, failed},
		{"dirty", func(v *View) bool { return v.claimedBy() != "" }, cleanup},
		{"inspected", func(v *View) bool { return v.Inspected != "" }, available},
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

// isRetained says that the claim is gone and the machine, which is off, is kept for its owner.
func (v *View) isRetained() bool {
	spec := &v.Server.Spec
	return spec.ServerClaimRef != nil && spec.ReclaimPolicy == metalv1.ReclaimPolicyRetain && (v.System == nil || v.released())
}

//go:generate go test -run ^TestThePageOfTheStatesIsWhatTheCodeSays$ -update .

// stateInfo is what a newcomer wants to know of a state.
type stateInfo struct {
	state       metalv1.ServerState
	means, does string
	// usual is how long a server usually stays; being later than that is shown. Zero: any time.
	usual time.Duration
	file  string
}

// states are all states, in the order of a server's life.
var states = []stateInfo{
	{metalv1.ServerStateInitial, "known, not yet looked at", "waits for the inventory that the BMC tells, and for the delay after a discovery that timed out", 5 * time.Minute, "decide_discovery.go"},
	{metalv1.ServerStateDiscovery, "being looked at from inside", "boots the probe from cold and waits for its report", 15 * time.Minute, "decide_discovery.go"},
	{metalv1.ServerStateAvailable, "clean, off, free", "switches off what is on; removes what discovery left", 0, "decide_idle.go"},
	{metalv1.ServerStateReserved, "belongs to a claim", "boots what the claim names; when the claim is gone, switches the machine off", 0, "decide_reserved.go"},
	{metalv1.ServerStateReleased, "kept as it is for its owner", "nothing", 0, "decide_idle.go"},
	{metalv1.ServerStateCleanup, "being made clean", "boots the probe, which wipes the disks; restores what is asked for", time.Hour, "decide_cleanup.go"},
	{metalv1.ServerStateMaintenance, "being worked on", "what the ServerMaintenance asks for", 0, "decide_maintenance.go"},
	{metalv1.ServerStateParked, "hands off", "asks the machine once to shut down, and nothing more", 0, "decide_idle.go"},
	{metalv1.ServerStateError, "needs a person, and says why", "observes", 0, "decide_idle.go"},
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

// transition is a way from one state to another: guard is the rule that then holds, because says
// by what that comes about.
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

// transitions are all there are. Where a server goes is derived from facts, not looked up here: this is what
// follows from the rules and from what each state does, written down. A test walks through all facts and finds
// exactly these ways, no more and no fewer. There is none from Reserved or Released to Available.
var transitions = []transition{
	{metalv1.ServerStateInitial, metalv1.ServerStateDiscovery, "probe prepared", "the BMC has told its inventory, and the boot of the probe is prepared"},
	{metalv1.ServerStateInitial, metalv1.ServerStateMaintenance, "maintained", begins},
	{metalv1.ServerStateInitial, metalv1.ServerStateParked, "parked", toPark},
	{metalv1.ServerStateDiscovery, metalv1.ServerStateAvailable, "inspected", "the report of the probe is on record"},
	{metalv1.ServerStateDiscovery, metalv1.ServerStateInitial, "new", "no report came in time"},
	{metalv1.ServerStateDiscovery, metalv1.ServerStateError, "retries spent", "no report came in time, once too often"},
	{metalv1.ServerStateDiscovery, metalv1.ServerStateParked, "parked", toPark},
	{metalv1.ServerStateAvailable, metalv1.ServerStateReserved, "claimed", "a claim takes it"},
	{metalv1.ServerStateAvailable, metalv1.ServerStateMaintenance, "maintained", begins},
	{metalv1.ServerStateAvailable, metalv1.ServerStateParked, "parked", toPark},
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
		"The code of a state is the file of its name in `internal/controller/server`. A state is never looked up in status: it is\n" +
		"derived each time from facts that last, so that a wiped status, a restart or another leader changes nothing.\n\n" +
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
	b.WriteString("\nLonger than usual is condition `Late`, an event, and the metric `farrier_servers_late`; so is, in any state but Parked, an order about power that has not\ncome true for 5 minutes.\n\n## Where a server is\n\nThe first that holds:\n\n")
	for i, r := range rules() {
		fmt.Fprintf(&b, "%d. *%s*: %s\n", i+1, r.guard, r.phase.state)
	}
	b.WriteString("\n## How it gets from one state to another\n\n| from | to | then holds | because |\n|---|---|---|---|\n")
	for _, t := range transitions {
		fmt.Fprintf(&b, "| %s | %s | *%s* | %s |\n", t.from, t.to, t.guard, t.because)
	}
	return b.String()
}
