package fleet

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// Observation is the last that a BMC said. It is never changed after it has been
// published; what it points to is shared and must be left alone.
type Observation struct {
	// Added is when the fleet got the BMC.
	Added time.Time
	// Sequence counts answers; zero: nothing is known since the start.
	Sequence uint64
	// Time is that of the last successful answer.
	Time time.Time
	// Err is why the last turn failed, nil when it did not; ErrSince is when failing began.
	Err      error
	ErrSince time.Time
	// Circuit reports whether the BMC is asked now, Retry when it will be again where it is not, and
	// Failures how often in a row it failed.
	Circuit  Circuit
	Retry    time.Time
	Failures int
	// Certificate is the accepted one by which the BMC was judged when it last showed its certificate, or answered.
	Certificate bmc.AcceptedCertificate
	// LockedBy is the holder of the exclusive lock, "" where there is none.
	LockedBy string
	// Job is the newest job or reset of the BMC itself; its ID is empty where there was none.
	Job CommandStatus
	// Manager is the BMC itself; its URI is empty until it could be read.
	Manager bmc.Manager
	Systems []SystemObservation
	// Others are the URIs of systems that are no servers, as they cannot be told what to boot.
	Others []string
	// Unread is why the list of systems is not complete: a member of it could not be read. Nil when it is.
	Unread error
	// Symptoms are what else is wrong with the BMC though it answers.
	Symptoms bmc.Symptoms
}

// SystemObservation is the last that a BMC said of one system.
type SystemObservation struct {
	bmc.System
	// Inventory is nil until it has been read.
	Inventory *bmc.Inventory
	// Seen and Seq are time and sequence of the last successful answer about this system.
	Seen time.Time
	Seq  uint64
	// Err is why this system could not be read while others of its BMC could.
	Err error
	// Command is the newest command for the power of this system, Setting the newest for its LED or
	// boot order; the ID is empty where there was none.
	Command, Setting CommandStatus
}

// Circuit is whether a BMC is asked.
type Circuit string

const (
	CircuitUnknown Circuit = ""        // not asked yet
	CircuitClosed  Circuit = "Closed"  // it answers
	CircuitOpen    Circuit = "Open"    // it failed and is left alone for a while
	CircuitRefused Circuit = "Refused" // it refuses the credentials: asked again when they change, or at Retry
	CircuitAsked   Circuit = "Asked"   // it asked to be left alone for a while (Retry-After)
)

// meetingTime is how long a large fleet takes to meet its BMCs after a start.
const meetingTime = 10 * time.Minute

// MetBy is what Fleet.MetBy says of a BMC with this observation; zero as well: the fleet has no such BMC.
func (o *Observation) MetBy() time.Time {
	if o.Sequence > 0 || o.Err != nil || o.Added.IsZero() {
		return time.Time{}
	}
	return o.Added.Add(meetingTime)
}

// System finds a system by its URI.
func (o *Observation) System(uri string) (*SystemObservation, bool) {
	for i := range o.Systems {
		if o.Systems[i].URI == uri {
			return &o.Systems[i], true
		}
	}
	return nil, false
}

func (o *Observation) clone() *Observation {
	c := *o
	c.Systems = append([]SystemObservation(nil), o.Systems...)
	return &c
}

// differs reports whether a subscriber would see a difference. Times and counters move with
// every poll and are none: ten thousand idle BMCs wake nobody.
func (o *Observation) differs(old *Observation) bool {
	if (o.Sequence == 0) != (old.Sequence == 0) || !sameError(o.Err, old.Err) ||
		o.Circuit != old.Circuit || o.Certificate != old.Certificate || o.LockedBy != old.LockedBy || !o.Job.same(old.Job) ||
		o.Manager != old.Manager || len(o.Systems) != len(old.Systems) || !sameError(o.Unread, old.Unread) || o.Symptoms != old.Symptoms ||
		!slices.Equal(o.Others, old.Others) {
		return true
	}
	for i := range o.Systems {
		if o.Systems[i].differs(&old.Systems[i]) {
			return true
		}
	}
	return false
}

func (s *SystemObservation) differs(old *SystemObservation) bool {
	if s.Inventory != old.Inventory || !sameError(s.Err, old.Err) || !s.Command.same(old.Command) || !s.Setting.same(old.Setting) {
		return true
	}
	if s.ETag == old.ETag { // mostly; nothing need be copied then
		return !reflect.DeepEqual(&s.System, &old.System)
	}
	now := s.System
	now.ETag = old.ETag
	return !reflect.DeepEqual(&now, &old.System)
}

// judged reports whether an error came after a TLS handshake, or because of one: an answer, or a certificate that is not good.
func judged(err error) bool {
	e, ok := errors.AsType[*bmc.Error](err)
	return ok && (e.StatusCode != 0 || e.Kind == bmc.KindUntrusted)
}

// sameError reports whether two errors tell of the same failure: an error is made anew with each request. It compares what they wrap, and
// errors of BMCs by their fields.
func sameError(a, b error) bool { return slices.Equal(failures(nil, a), failures(nil, b)) }

// failures appends what an error consists of: errors of BMCs as values, without what differs at each attempt, and others that wrap nothing.
func failures(found []any, err error) []any {
	if err == nil {
		return found
	}
	if e, ok := err.(*bmc.Error); ok { //nolint:errorlint // the tree is walked here, node by node
		failure := *e
		failure.Err, failure.RetryAfter = nil, 0
		return append(found, failure)
	}
	switch e := err.(type) { //nolint:errorlint // the same
	case interface{ Unwrap() error }:
		return failures(found, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			found = failures(found, part)
		}
		return found
	}
	if !reflect.TypeOf(err).Comparable() {
		return append(found, reflect.TypeOf(err))
	}
	return append(found, err)
}
