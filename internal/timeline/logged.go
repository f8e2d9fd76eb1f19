package timeline

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// logged tells what the logbook has beside what is known already: commands to the BMC, earlier states, claims and conditions, and the boots that
// the boot server does not remember any more.
func (s Source) logged(ctx context.Context, t *Timeline, boots operator.Boots) {
	name := t.Server
	if name == "" {
		name = t.UUID
	}
	if s.Logbook == nil || name == "" {
		return
	}
	entries, err := s.Logbook(ctx, name)
	if err != nil {
		t.Missing = append(t.Missing, fmt.Sprintf("the logbook: %v", err))
		return
	}
	known := map[told]bool{}
	for _, e := range t.Entries {
		known[toldOf(e)] = true
	}
	remembered := map[string]bool{}
	for _, b := range boots.Boots {
		remembered[b.Attempt] = true
	}
	for i := range entries {
		e, ok := entryOf(&entries[i], remembered)
		if ok && !known[toldOf(e)] {
			t.Entries = append(t.Entries, e)
		}
	}
}

// quiet are reasons of conditions that say that nothing goes on, or what the requests of a boot say.
var quiet = map[string]bool{"Delivered": true, "BootOrdered": true, "Idle": true, "OnTime": true, "Read": true}

// told is what two sources tell alike.
type told struct {
	kind         Kind
	what, object string
	at           int64
}

func toldOf(e Entry) told { return told{e.Kind, e.What, e.Object, e.Time.Unix()} }

// entryOf is an entry of the logbook as a timeline tells it; false: it says nothing, or is told by the record of requests.
func entryOf(l *logbook.Entry, remembered map[string]bool) (Entry, bool) {
	e := Entry{Time: l.Time, What: l.What, Object: l.Object, Detail: l.Detail, Bad: l.Bad}
	switch l.Kind {
	case logbook.KindCommand:
		e.Kind, e.Detail = KindCommand, l.Detail+": "+outcome(l)
	case logbook.KindState, logbook.KindClaim:
		e.Kind = KindState
	case logbook.KindConsole:
		e.Kind, e.Attempt = KindConsole, l.Attempt
	case logbook.KindObject:
		e.Kind = KindObject
	case logbook.KindCondition:
		if quiet[l.Reason] {
			return e, false
		}
		e.Kind, e.Detail = KindCondition, l.Reason
		if l.Detail != "" {
			e.Detail += ", " + l.Detail
		}
	case logbook.KindBoot:
		return stepOf(l), !remembered[l.Attempt]
	}
	return e, e.Kind != ""
}

// stepOf is the first answer of a step, as requests tells it.
func stepOf(l *logbook.Entry) Entry {
	var one Timeline
	one.requests(operator.Boots{Boots: operator.BootsOf([]logbook.Entry{*l})})
	return one.Entries[0]
}

// outcome is what a BMC answered, and how long it took.
func outcome(l *logbook.Entry) string {
	took := l.Took.Round(time.Millisecond)
	switch {
	case l.Status != 0:
		return fmt.Sprintf("%d %s in %s", l.Status, http.StatusText(l.Status), took)
	case l.Reason != "":
		return fmt.Sprintf("no answer (%s) in %s", l.Reason, took)
	}
	return "sent in " + took.String()
}
