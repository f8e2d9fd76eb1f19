package bmc

import (
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Nothing is said of a new BMC before there is something to say, and then all of it at once. Each write that says no
// more than that it is new, or no more than the next one a moment later, is one of ten thousand.
const (
	// introductionTime is how long a new BMC may take its turn to be asked in a large fleet.
	introductionTime = 2 * time.Minute
	// managerTime is how long one that answers may take to show its manager, which is asked for next. One whose manager
	// hangs does not hold back for longer that it is connected.
	managerTime = 10 * time.Second
)

// introduction is until when there is nothing to say of a BMC: nothing is wrong with it or with what it refers to, and it has
// just been made and not been heard of, or has given its first answer and not shown its manager. said is the
// state that its status tells.
func (s *scope) introduction(said metalv1.BMCState) time.Time {
	o := &s.observation
	wrong := s.unresolved != nil || s.heldBy != "" || s.refused != nil || s.resetErr != nil || o.Err != nil
	switch {
	case wrong || s.reset != nil || s.rotating != nil:
		return time.Time{}
	case said == "" && o.Time.IsZero():
		return s.obj.CreationTimestamp.Add(introductionTime)
	case (said == "" || said == metalv1.BMCStatePending) && o.Sequence == 1 && o.Manager.URI == "":
		return o.Time.Add(managerTime) // the second answer would be the manager: it could not be read
	}
	return time.Time{}
}
