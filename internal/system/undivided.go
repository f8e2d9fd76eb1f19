package system

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// undivided lets a leader that does not divide BMCs begin when nobody holds a part of them.
type undivided struct {
	leases coordinationclient.LeaseInterface
	named  func(string) string
	logger logr.Logger
	seen   sightings
}

// await returns when nobody holds a shard, or ctx ends.
func (u *undivided) await(ctx context.Context) error {
	told := false
	for {
		asked := time.Now()
		list, err := listLeases(ctx, u.leases, u.named)
		switch {
		case apierrors.IsForbidden(err):
			return nil // a role of an installation that has never divided anything
		case err == nil:
			u.seen.see(list, asked, time.Now())
			name := heldShard(u.seen, 0)
			if name == "" {
				return nil
			}
			if !told {
				u.logger.Info("waiting for managers with --shards to give up their BMCs", "lease", name)
				told = true
			}
		}
		if err := sleep(ctx, retryPeriod); err != nil {
			return err
		}
	}
}
