package server

import (
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// decisions are what each phase does.
var decisions = map[phase]func(*View) Plan{
	initial:     decideInitial,
	discovery:   decideDiscovery,
	available:   decideAvailable,
	reserved:    decideReserved,
	releasing:   decideReleasing,
	released:    decideReleased,
	cleanup:     decideCleanup,
	maintenance: decideMaintenance,
	parked:      decideParked,
	failed:      decideError,
}

// decide derives the phase of a server and plans what is to be done. A wrong clock, a requested operation and a reset under way come
// before what the phase does: what they write, or their end, triggers the next reconcile.
func decide(v *View) (phase, Plan) {
	ph := derive(v)
	if attempt := v.rewound(); attempt != nil {
		return ph, Plan{Attempt: attempt, Interim: true}
	}
	var requested Plan
	if operation, asked := metalv1.OperationOf(v.Server); asked {
		answer, done := decideOperation(v, operation)
		if done {
			answer.Interim = true
			return ph, answer
		}
		requested = answer
	}
	if reset, underWay := followReset(v); underWay {
		reset.Interim, reset.Deferred = true, requested.Deferred
		return ph, reset
	}
	plan := decisions[ph](v)
	plan.Deferred = requested.Deferred
	plan.Events = append(plan.Events, requested.Events...)
	v.settings(ph.state, &plan)
	v.forgetShutdown(&plan)
	v.awaitTrouble(&plan)
	return ph, plan
}
