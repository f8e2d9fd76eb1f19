package server

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// Plan is what a decision wants done, as data. Every field is optional.
type Plan struct {
	// Prepare makes the internal boot configuration and its secrets, Remove deletes them.
	Prepare, Remove bool
	// Order has the prepared boot be ordered in the same write, if it is known what its image names.
	Order bool
	// Clean is how thoroughly the prepared probe cleans; empty: not at all.
	Clean inspection.CleanMode
	// Again is the boot attempt that the prepared one replaces; nil: it is the first.
	Again *bootattempt.Attempt
	// Record is the new record of the cleanup. Forget deletes that record: the server is in use again. Prune deletes old ones.
	Record        *machinerecord.Cleanup
	Forget, Prune bool
	// Edits change spec and annotations of the Server, in one patch with an optimistic lock.
	Edits []Edit
	// Attempt is written to the boot configuration.
	Attempt *bootattempt.Attempt
	// Command goes to the BMC. Defaults, if not empty, is the ID of the job that restores the BIOS defaults.
	Command  *fleet.Command
	Defaults string
	// Settings go to the BMC too. Each has an ID of its own and supersedes no power command.
	Settings []fleet.Command
	// Reset is how far a reset on request comes by this plan.
	Reset Reset
	// Deferred is why a requested operation waits.
	Deferred string
	// Conditions go into status as they are.
	Conditions []metav1.Condition
	// Awaits is what usually comes soon; Since is from when on.
	Awaits Awaited
	Since  time.Time
	// Events are told to whoever watches the server.
	Events []Event
	// After asks for another reconcile when time alone changes something.
	After time.Duration
	// Interim means that nothing else is decided and status is not written: a write of this plan triggers the next reconcile, or
	// a reset is under way.
	Interim bool
}

// Event is a Kubernetes event about the server.
type Event struct{ Type, Reason, Message string }

// Reset names the steps of a reset that this process has to remember.
type Reset struct {
	// Begin is the mark that Edits write. It is remembered first: a mark that this process does not know was another's.
	Begin string
	// Order is the mark that Command carries out.
	Order string
	// End forgets both.
	End bool
}

// Awaited is what a decision waits for.
type Awaited int

// What a decision may wait for.
const (
	AwaitsNothing Awaited = iota
	// AwaitsInventory is the first inventory of the BMC.
	AwaitsInventory
	// AwaitsPreparation is the boot of the probe, which this plan prepares.
	AwaitsPreparation
	// AwaitsBootConfiguration is its controller, which makes it ready.
	AwaitsBootConfiguration
	// AwaitsBootServer is a boot server that knows of the attempt.
	AwaitsBootServer
	// AwaitsPowerOff is an observation of the machine that is off.
	AwaitsPowerOff
	// AwaitsPowerOn is an observation of the machine that is on.
	AwaitsPowerOn
	// AwaitsIdle is the machine of an Available server, which goes off.
	AwaitsIdle
)

func (p *Plan) awaits(what Awaited, since time.Time) { p.Awaits, p.Since = what, since }

func (p *Plan) condition(kind string, status metav1.ConditionStatus, reason, format string, args ...any) {
	p.Conditions = append(p.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...),
	})
}

func (p *Plan) event(reason, format string, args ...any) {
	p.Events = append(p.Events, Event{corev1.EventTypeNormal, reason, fmt.Sprintf(format, args...)})
}

func (p *Plan) warning(reason, format string, args ...any) {
	p.Events = append(p.Events, Event{corev1.EventTypeWarning, reason, fmt.Sprintf(format, args...)})
}

func (p *Plan) edit(edits ...Edit) { p.Edits = append(p.Edits, edits...) }

// after asks to be reconciled at t at the latest.
func (p *Plan) after(now, t time.Time) {
	d := max(t.Sub(now), time.Millisecond)
	if p.After == 0 || d < p.After {
		p.After = d
	}
}
