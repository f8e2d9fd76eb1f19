package subscription

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

const (
	// lookAgain is how long a subscription is believed to be there: a BMC may lose it with an update of
	// its firmware. A BMC without events may learn them in the same way.
	lookAgain = 12 * time.Hour
	// afterAbsence is how soon after another look a BMC that was away is looked at.
	afterAbsence = 5 * time.Minute
	// firstRetry doubles up to lastRetry.
	firstRetry = time.Minute
	lastRetry  = 6 * time.Hour
	// jobBudget is for some twenty requests to a slow BMC.
	jobBudget = 90 * time.Second
	// jobCheck is how often a job is looked after whose end wakes nobody, because a newer one of
	// somebody else is what the observation tells of.
	jobCheck = 15 * time.Second
	// leaveWithin is how long the deletion of an object waits for a BMC that fails, and leaveAgain how soon after one attempt to
	// unsubscribe comes the next.
	leaveWithin = time.Minute
	leaveAgain  = 10 * time.Second
)

// memory is what is known of one BMC's subscriptions. It is lost with the process, and nothing is
// lost with it.
type memory struct {
	uid     string
	account string // what its requests are counted for
	// job is the one under way, with its work.
	job      string
	work     *work
	failures int // of the last jobs, in a row

	looked time.Time // when the last one ended; zero: none has
	found  *work     // what the last complete one found; nil: there was none
	err    error     // what the BMC said to it
	absent bool      // the BMC did not answer since

	deleted bool      // the object is being deleted
	leaving time.Time // when the BMC was to be told that first; zero: it was not
	left    bool      // it has been, or will not hear it

	born      time.Time // when this process met the BMC
	heard     time.Time // when the last event came
	changed   time.Time // when one came that tells of other hardware, and was not read since; zero: none
	refreshed time.Time // when all was read again because of such
	critical  time.Time // when a critical event was told last
}

// take looks what has become of the job under way. It reports whether it has ended, or there is none.
func (m *memory) take(f *fleet.Fleet, key fleet.Key, now time.Time) bool {
	if m.job == "" {
		return true
	}
	status, known := f.Command(key, m.job)
	switch {
	case known && !status.State.Ended():
		return false
	case known:
		m.end(status, now)
	}
	m.job, m.work = "", nil // unknown: the actor is another one, and its job is lost
	return true
}

// end notes what a job came to.
func (m *memory) end(status fleet.CommandStatus, now time.Time) {
	err := status.Err
	if err == nil && status.State != fleet.Succeeded {
		err = fmt.Errorf("the job was %s", status.State)
	}
	m.looked, m.absent = now, false
	if m.work.complete {
		m.found, m.err = m.work, err
	}
	m.left = !m.leaving.IsZero() && (!m.work.failed(err) || bmc.KindOf(err) == bmc.KindRejected)
	if m.work.failed(err) {
		m.failures++
	} else {
		m.failures = 0
	}
}

// due is when to look at the BMC next.
func (m *memory) due() time.Time {
	switch {
	case m.looked.IsZero():
		return time.Time{}
	case m.failures > 0:
		return m.looked.Add(min(firstRetry<<min(m.failures-1, 10), lastRetry))
	case m.absent:
		return m.looked.Add(afterAbsence)
	}
	return m.looked.Add(lookAgain - m.share())
}

// sometime is when, after the start, a BMC is looked at that is not known to send anything, though nothing is to be sent: a
// status that was lost may have known. At ten thousand BMCs that need not be at once.
func (m *memory) sometime() time.Duration {
	return time.Duration(float64(m.share()) / float64(time.Hour) * float64(lookAgain))
}

// share takes up to an hour off, a different time for each BMC, so that those that were met together are not
// looked at together.
func (m *memory) share() time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(m.uid))
	return time.Duration(h.Sum32()%3600) * time.Second
}

// order submits a job under an ID that none had before.
func (m *memory) order(f *fleet.Fleet, key fleet.Key, id string, w *work) error {
	if err := f.Do(key, fleet.Job{ID: id, Budget: jobBudget, Account: m.account, Run: w.run}); err != nil {
		return err
	}
	m.job, m.work = id, w
	return nil
}
