package bmc

import (
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// operationAutoReset is what is noted as begun when nobody has asked: the BMC did not answer for long.
const operationAutoReset = "auto-reset"

const (
	// settleTime is how long a BMC that was told to restart is not believed when it answers: it goes on
	// doing so for a while before it goes down.
	settleTime = 30 * time.Second
	// checkEvery is how often is looked whether a BMC that has restarted answers again: an answer that is
	// the same as before wakes nobody.
	checkEvery = 10 * time.Second
)

// resetMethod is how a BMC is told to restart.
type resetMethod string

const (
	methodNone    resetMethod = ""
	methodRedfish resetMethod = "Redfish"
	methodSSH     resetMethod = "SSH"
)

// reset is a restart of a BMC that this process has begun.
type reset struct {
	// started is the value of the annotation that says so; operation what was asked for.
	started, operation string
	method             resetMethod
	// sent is when the BMC was told.
	sent time.Time
	// looked says that it was asked about everything since.
	looked bool
}

// resetView is what a decision about a restart looks at.
type resetView struct {
	now time.Time
	// ssh says that the BMC's make can be restarted over SSH.
	ssh bool
	// ended says that the method in use has ended, at that time and with that error.
	ended bool
	at    time.Time
	err   error
	// observation is the last of the BMC.
	observation fleet.Observation
}

// resetStep is what to do next about a restart.
type resetStep string

const (
	stepSubmit   resetStep = "Submit"   // by reset.method
	stepAwait    resetStep = "Await"    // the end of the method, which triggers the controller
	stepSent     resetStep = "Sent"     // remember that the BMC was told
	stepLook     resetStep = "Look"     // ask the BMC about everything
	stepSettle   resetStep = "Settle"   // come back later
	stepComplete resetStep = "Complete" // the BMC answers again
	stepFail     resetStep = "Fail"     // no method has worked
)

// decide says what to do next, and how it stands then.
func (p reset) decide(v resetView) (resetStep, reset) {
	switch {
	case !p.sent.IsZero():
		return p.settle(v)
	case p.method == methodNone && bmc.KindOf(v.observation.Err) == bmc.KindUntrusted:
		return stepFail, p // who is there is not the BMC, as far as anybody knows
	case p.method == methodNone:
		if p.method = p.firstMethod(v); p.method == methodNone {
			return stepFail, p
		}
		return stepSubmit, p
	case !v.ended:
		return stepAwait, p
	case v.err == nil:
		p.sent = v.at
		return stepSent, p
	case p.method == methodRedfish && v.ssh && bmc.KindOf(v.err) != bmc.KindUntrusted:
		p.method = methodSSH
		return stepSubmit, p
	}
	return stepFail, p
}

// firstWay prefers Redfish while that answers.
func (p reset) firstMethod(v resetView) resetMethod {
	force := p.operation == metalv1.OperationForceRestartBMC
	switch {
	case v.ssh && (force || silent(v.observation.Err)):
		return methodSSH
	case force:
		return methodNone
	}
	return methodRedfish
}

// settle waits until the BMC answers after its restart.
func (p reset) settle(v resetView) (resetStep, reset) {
	up := p.sent.Add(settleTime)
	switch {
	case v.now.Before(up):
		return stepSettle, p
	case !p.looked:
		p.looked = true
		return stepLook, p
	case v.observation.Err == nil && !v.observation.Time.Before(up):
		return stepComplete, p
	}
	return stepSettle, p
}

// due is when a BMC that fails is restarted though nobody asks for it, and whether it ever is. One that answers
// and refuses our password works; one that is not trusted must get no password by any method; after a restart the
// delay begins anew.
func due(delay time.Duration, o fleet.Observation, lastReset time.Time) (time.Time, bool) {
	if delay <= 0 || o.Err == nil {
		return time.Time{}, false
	}
	if !silent(o.Err) && bmc.KindOf(o.Err) != bmc.KindServer {
		return time.Time{}, false
	}
	since := o.ErrSince
	if lastReset.After(since) {
		since = lastReset
	}
	return since.Add(delay), true
}

// told returns nil if the BMC was told to restart by a command that has ended. That the connection broke
// after the request is what a restart looks like.
func told(s fleet.CommandStatus) error {
	if s.State == fleet.Succeeded || s.Sent != "" && silent(s.Err) {
		return nil
	}
	return s.Err
}

// silent reports whether the error means that a BMC does not answer Redfish.
func silent(err error) bool {
	kind := bmc.KindOf(err)
	return kind == bmc.KindConnection || kind == bmc.KindTimeout
}
