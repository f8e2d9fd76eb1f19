package system

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

// sightings are Leases, and when this process has seen them change. Clocks of other hosts play no part, as in an election: a holder is gone when its Lease
// has not changed for as long as it is valid.
type sightings struct {
	by map[string]sighting // by the name of the Lease
}

type sighting struct {
	lease *coordinationv1.Lease
	since time.Time
}

// see takes all Leases as they were at a time.
func (s *sightings) see(leases []coordinationv1.Lease, now time.Time) {
	seen := make(map[string]sighting, len(leases))
	for i := range leases {
		lease := &leases[i]
		since := now
		if before, known := s.by[lease.Name]; known && before.lease.UID == lease.UID && before.lease.ResourceVersion == lease.ResourceVersion {
			since = before.since
		}
		seen[lease.Name] = sighting{lease, since}
	}
	s.by = seen
}

// held reports whether somebody may hold a Lease, as far as is known at a time.
func (s sighting) held(now time.Time) bool {
	return s.lease != nil && ptr.Deref(s.lease.Spec.HolderIdentity, "") != "" && now.Sub(s.since) < leaseDuration
}

// gone reports whether the holder that a Lease names is gone for so long, at a time.
func (s sighting) gone(holder string, now time.Time) bool {
	return s.lease != nil && holder != "" && ptr.Deref(s.lease.Spec.HolderIdentity, "") == holder && now.Sub(s.since) >= leaseDuration
}
