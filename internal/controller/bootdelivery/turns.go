package bootdelivery

import "time"

// turns says when conditions are to tell of deliveries, so that few boot configs are written at a time.
type turns struct {
	// patience is how long the first delivery of a boot config waits for others.
	patience time.Duration
	// pace is the time between the writes of two boot configs; 0: none.
	pace time.Duration
}

// doubling is how long turns are the pace apart. In as long after that there are twice as many, and so on, for nobody is to wait for long: at a pace
// of a tenth of a second a thousand machines that boot together do so for 80 seconds, ten thousand for four minutes, a hundred thousand for eight.
const doubling = time.Minute

// next is the turn after the last.
func (t turns) next(last, now time.Time) time.Time {
	earliest := now.Add(t.patience)
	times := min(max(last.Sub(earliest), 0)/doubling, 32)
	if turn := last.Add(t.pace >> times); turn.After(earliest) {
		return turn
	}
	return earliest
}

// due is when something of the same boot is to be told of, with which what comes now goes; zero: there is nothing that is still to be.
func (all delivered) due(attempt string, now time.Time) (due time.Time) {
	for _, n := range all {
		for _, at := range []time.Time{n.due, n.dueAgain} {
			if n.attempt == attempt && at.After(now) && (due.IsZero() || at.Before(due)) {
				due = at
			}
		}
	}
	return due
}
