package timeline

import (
	"cmp"
	"slices"
	"time"
)

// Kind says what an Entry tells of.
type Kind string

// What there is to tell.
const (
	KindObject    Kind = "object"    // an object was made
	KindBoot      Kind = "boot"      // a step of a boot attempt
	KindRequest   Kind = "request"   // the machine asked the boot server
	KindReport    Kind = "report"    // the machine told the boot server
	KindCondition Kind = "condition" // a condition became what it is
	KindEvent     Kind = "event"
	KindRecord    Kind = "record"  // an object of record was stored
	KindCommand   Kind = "command" // the BMC was told to do something
	KindState     Kind = "state"   // state or power changed, or whose claim it is
	KindConsole   Kind = "console" // the serial console printed a line in a boot
	KindRollout   Kind = "rollout" // a change of many went on, or came to the machine
)

// Entry is one thing that happened.
type Entry struct {
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`
	// What happened, in a word or two; Object is to whom, "Server" or "ServerClaim default/b", where it is not the machine.
	What   string `json:"what"`
	Object string `json:"object,omitempty"`
	// Detail says more, for people.
	Detail string `json:"detail,omitempty"`
	// Bad is true for what should not have happened.
	Bad bool `json:"bad,omitempty"`
	// Attempt is the ID of the boot attempt that it belongs to.
	Attempt string `json:"attempt,omitempty"`
	// Trace is the ID of the trace of that attempt in OpenTelemetry, of the order of a boot alone.
	Trace string `json:"trace,omitempty"`

	// Of a request or report: who asked, what was answered, how many bytes went over, and how often until when.
	Address string     `json:"address,omitempty"`
	Status  int        `json:"status,omitempty"`
	Bytes   int64      `json:"bytes,omitempty"`
	Count   int        `json:"count,omitempty"`
	Last    *time.Time `json:"last,omitempty"`
	Source  string     `json:"source,omitempty"` // the boot object that the answer came from
}

// Timeline is what is known of one server.
type Timeline struct {
	// Server is its name; empty for a machine that no Server stands for.
	Server string `json:"server,omitempty"`
	UUID   string `json:"systemUUID"`
	State  string `json:"state,omitempty"`
	Power  string `json:"power,omitempty"`
	Claim  string `json:"claim,omitempty"`

	Entries []Entry `json:"entries"`
	// Missing says what could not be read, and why.
	Missing []string `json:"missing,omitempty"`
}

// sort puts entries in order. The API keeps whole seconds, the boot server and the record of attempts do better: within a second objects are made
// first, then come the exact times, then conditions and the like, which are the consequences.
func (t *Timeline) sort() {
	rank := func(e Entry) int {
		switch e.Kind {
		case KindObject:
			return 0
		case KindBoot, KindRequest, KindReport, KindCommand, KindState, KindConsole:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(t.Entries, func(a, b Entry) int {
		return cmp.Or(
			a.Time.Truncate(time.Second).Compare(b.Time.Truncate(time.Second)),
			cmp.Compare(rank(a), rank(b)),
			a.Time.Compare(b.Time),
		)
	})
}

// key tells an entry from others, also when it has been seen again since.
func (e Entry) key() Entry {
	e.Bytes, e.Count, e.Last = 0, 0, nil
	return e
}
