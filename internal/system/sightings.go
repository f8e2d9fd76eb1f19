package system

import (
	"context"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// sightings are Leases, and for how long this process has seen them as they are. Clocks of other hosts play no part, as in an election: a holder is gone
// when its Lease has not changed for as long as it is valid. That counts from the answer that showed it to the request that was answered with the same,
// so that neither an API that is slow nor a process that does not look makes a holder seem gone.
type sightings struct {
	by    map[string]sighting // by the name of the Lease
	asked time.Time
}

type sighting struct {
	lease *coordinationv1.Lease
	// unchanged is for how long the Lease is known to have been as it is.
	unchanged time.Duration
	since     time.Time
}

// see takes all Leases, as an answer had them to a request that was sent at a time.
func (s *sightings) see(leases []coordinationv1.Lease, asked, answered time.Time) {
	if asked.Before(s.asked) {
		return // what was asked for later is known already
	}
	seen := make(map[string]sighting, len(leases))
	for i := range leases {
		lease := &leases[i]
		now := sighting{lease: lease, since: answered}
		if before, known := s.by[lease.Name]; known && before.lease.UID == lease.UID && before.lease.ResourceVersion == lease.ResourceVersion {
			now.since, now.unchanged = before.since, asked.Sub(before.since)
		}
		seen[lease.Name] = now
	}
	s.by, s.asked = seen, asked
}

// of reports whether a Lease is about the division into so many shards.
func (s sighting) of(shards int) bool {
	return s.lease.Labels[metalv1.LabelShards] == strconv.Itoa(shards)
}

// held reports whether somebody may hold a Lease.
func (s sighting) held() bool {
	return s.lease != nil && ptr.Deref(s.lease.Spec.HolderIdentity, "") != "" && s.unchanged < leaseDuration
}

// gone reports whether a Lease that is as a record says has a holder who is gone.
func (s sighting) gone(record *resourcelock.LeaderElectionRecord) bool {
	if s.lease == nil || record.HolderIdentity == "" || s.unchanged < leaseDuration {
		return false
	}
	seen := resourcelock.LeaseSpecToLeaderElectionRecord(&s.lease.Spec)
	return seen.HolderIdentity == record.HolderIdentity && seen.RenewTime.Equal(&record.RenewTime) && seen.LeaderTransitions == record.LeaderTransitions
}

// impatient is the lock of a Lease whose holder may be known to be gone already. An elector that has just begun to look would wait for as long as the Lease
// is valid once more.
type impatient struct {
	resourcelock.Interface
	gone func(*resourcelock.LeaderElectionRecord) bool
}

// Get implements resourcelock.Interface. A Lease whose holder is gone is one that nobody holds; that it does not change meanwhile, its update makes sure of.
func (l *impatient) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() && l.gone(record) {
		free := *record
		free.HolderIdentity = ""
		return &free, raw, nil
	}
	return record, raw, err
}
