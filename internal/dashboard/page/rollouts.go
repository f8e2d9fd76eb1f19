package page

import (
	"context"
	"time"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
)

// rolloutsPage lists how changes go through the fleet.
type rolloutsPage struct {
	Now  time.Time
	Rows []rolloutRow
	More int
}

type rolloutRow struct {
	farrierv1.Rollout
	Policy string
	// Standing is its reason in the words that have a colour.
	Standing string
}

// At is since when its reason is that.
func (r rolloutRow) At() time.Time {
	if r.Since == nil {
		return time.Time{}
	}
	return r.Since.Time
}

// Rollouts lists the rollouts of all Sets.
func Rollouts(ctx context.Context, s Source) (View, error) {
	var policies farrierv1.RolloutPolicyList
	if err := s.Objects.List(ctx, &policies); err != nil {
		return View{}, err
	}
	p := rolloutsPage{Now: s.Now}
	for i := range policies.Items {
		for _, r := range policies.Items[i].Status.Rollouts {
			p.Rows = append(p.Rows, rolloutRow{r, policies.Items[i].Name, standingOf(r)})
		}
	}
	if len(p.Rows) > mostRows {
		p.Rows, p.More = p.Rows[:mostRows], len(p.Rows)-mostRows
	}
	return view("Rollouts", "rollouts", "rollouts", p), nil
}

// How a rollout stands.
const (
	rolloutDone   = "done"
	rolloutGoes   = "in progress"
	rolloutFailed = "has failures"
	rolloutWaits  = "waits"
)

// standingOf is the colour of a rollout: one that has stopped because of failures is wrong, one that nobody need look at is done.
func standingOf(r farrierv1.Rollout) string {
	switch {
	case r.Failed > 0:
		return rolloutFailed
	case r.Reason == farrierv1.ReasonCompleted:
		return rolloutDone
	case r.InProgress > 0:
		return rolloutGoes
	}
	return rolloutWaits
}
