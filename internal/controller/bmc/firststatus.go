package bmc

import (
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// A new BMC gets its first status in one write, once there is something to report. A write that says only that the BMC is new, or
// that the next write follows a moment later, would be made ten thousand times in a large fleet.
const (
	// firstContactTime is how long a new BMC may wait for its first contact in a large fleet, from when the fleet has it: of a hundred thousand BMCs that are
	// made together most are made long before.
	firstContactTime = 2 * time.Minute
	// managerTime is how long a BMC that answers may take to show its manager, which is the next request. If the manager
	// hangs, the status reports the connection after this time.
	managerTime = 10 * time.Second
)

// firstStatusDue returns until when the first status waits, zero if it is due. It waits while nothing is wrong and the BMC
// is new to the fleet and has not answered, or is to be met again after a start of the manager, or has given its first answer and not shown its manager. said is the
// state in its status.
func (s *scope) firstStatusDue(said metalv1.BMCState) time.Time {
	o := &s.observation
	wrong := s.unresolved != nil || s.overriddenBy != "" || s.refused != nil || s.resetErr != nil || o.Err != nil
	switch {
	case wrong || s.reset != nil || s.rotating != nil:
		return time.Time{}
	case said == "" && o.Time.IsZero():
		return o.Added.Add(firstContactTime)
	case s.obj.Status.ObservedGeneration == s.obj.Generation && !o.MetBy().IsZero():
		return o.MetBy() // after a start of the manager
	case (said == "" || said == metalv1.BMCStatePending) && o.Sequence == 1 && o.Manager.URI == "":
		return o.Time.Add(managerTime) // the second answer would be the manager: it could not be read
	}
	return time.Time{}
}
