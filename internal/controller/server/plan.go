package server

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// Plan is what a state wants done. All of it is optional.
type Plan struct {
	// Prepare and Remove are about the internal boot configuration and its secrets.
	Prepare, Remove bool
	// Clean is how thoroughly the probe that is prepared cleans; empty: not at all.
	Clean inspection.CleanMode
	// Again is the boot that came to nothing, in whose place one is prepared; nil: the first is.
	Again *bootattempt.Attempt
	// Record is written as the object of record of the cleanup. Forget deletes that object: the server is
	// in use again. Prune deletes old ones.
	Record        *machinerecord.Cleanup
	Forget, Prune bool
	// Facts changes spec, labels and annotations of the Server, with an optimistic lock.
	Facts func(*metalv1.Server)
	// Attempt is written to the boot configuration.
	Attempt *bootattempt.Attempt
	// Command goes to the BMC, and Defaults, if not empty, is the ID of the order to restore those of the BIOS.
	Command  *fleet.Command
	Defaults string
	// Settings go to the BMC too; each has an ID of its own and takes no power command's place.
	Settings []fleet.Command
	// Conditions go into status as they are.
	Conditions []metav1.Condition
	// Unsettled says that what is awaited usually comes within a moment. Status is not written for it: each
	// write costs every server of a fleet as much.
	Unsettled bool
	// Event, if it has a reason, is told to whoever watches the server.
	Event Event
	// After asks to be reconciled again when time alone has changed something.
	After time.Duration
}

// Event is a Kubernetes event about the server.
type Event struct{ Type, Reason, Message string }

func (p *Plan) condition(kind string, status metav1.ConditionStatus, reason, format string, args ...any) {
	p.Conditions = append(p.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...),
	})
}

// alsoFacts adds to what is changed of the Server.
func (p *Plan) alsoFacts(change func(*metalv1.Server)) {
	first := p.Facts
	p.Facts = func(s *metalv1.Server) {
		if first != nil {
			first(s)
		}
		change(s)
	}
}

// after asks to be woken at t at the latest.
func (p *Plan) after(now, t time.Time) {
	d := max(t.Sub(now), time.Millisecond)
	if p.After == 0 || d < p.After {
		p.After = d
	}
}
