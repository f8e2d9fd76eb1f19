package system

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/shard"
)

// division is what the Lease of the managers says of how BMCs are divided among them.
type division struct {
	// shards is into how many; 0: one manager has them all, or nobody has led yet.
	shards int
	// paused says that nobody may act.
	paused bool
	// since is when the holder became the leader.
	since time.Time
}

// divisionOf reads a Lease. What another holder wrote into it does not count: a manager of an earlier version leads without dividing anything, and
// leaves annotations as they are.
func divisionOf(lease *coordinationv1.Lease) (d division) {
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if lease.Spec.AcquireTime != nil {
		d.since = lease.Spec.AcquireTime.Time
	}
	if d.paused = pausedBy(lease); d.paused {
		return d
	}
	count, by, ok := strings.Cut(lease.Annotations[metalv1.AnnotationShards], " ")
	n, err := strconv.Atoi(count)
	if ok && err == nil && n > 0 && n <= shard.Max && (holder == "" || holder == by) {
		d.shards = n
	}
	return d
}

// textOfDivision is the annotation of a Lease.
func textOfDivision(shards int, holder string) string { return fmt.Sprintf("%d %s", shards, holder) }

// divided is what this process last learnt of the division. Its zero value knows nothing.
type divided struct {
	mu   sync.Mutex
	last division
	at   time.Time
}

// learn takes what was read or written from a moment on.
func (d *divided) learn(lease *coordinationv1.Lease, from time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if from.After(d.at) {
		d.last, d.at = divisionOf(lease), from
	}
}

// known returns the division, and since when nothing newer is known.
func (d *divided) known() (division, time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last, d.at
}

// checkShards reads --shards.
func (s *settings) checkShards() error {
	switch {
	case s.Shards == 0:
		return nil
	case s.Shards < 0 || s.Shards > shard.Max:
		return fmt.Errorf("--shards: %d is not from 0 to %d", s.Shards, shard.Max)
	case !s.LeaderElection:
		return fmt.Errorf("--shards: needs --leader-elect, because BMCs are divided among managers by Leases")
	case s.ServerLifecycle == doneByOthers:
		return fmt.Errorf("--shards: another program looks after BMCs and servers, by --server-lifecycle, so that there is nothing to divide")
	}
	return nil
}
