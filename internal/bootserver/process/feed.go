package process

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// feed puts records into the view that machines are answered from. The view counts once a manager has sent everything, or while one from
// disk is young enough. It implements bootstream.Applier.
type feed struct {
	views *records.Views
	// refused counts records that could not be used.
	refused atomic.Uint64

	mu sync.Mutex
	// synced: a manager has sent everything since the start. accepted: what is on disk counts until then.
	synced, accepted bool
}

// Apply implements bootstream.Applier.
func (f *feed) Apply(r *streampb.Record) error {
	err := f.views.Apply(r)
	if err != nil {
		f.refused.Add(1)
	}
	return err
}

// Delete implements bootstream.Applier.
func (f *feed) Delete(key string) { f.views.Delete(key) }

// SetSynced implements bootstream.Applier.
func (f *feed) SetSynced(synced bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced = synced
	f.views.SetSynced(f.synced || f.accepted)
}

// accept says whether the view from disk counts.
func (f *feed) accept(accepted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.accepted = accepted
	f.views.SetSynced(f.synced || f.accepted)
}

// watchAge ends the use of a view from disk that has become too old before a manager came.
func (p *process) watchAge(ctx context.Context) error {
	ticker := p.clock.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			if p.status.now.Load().Synced {
				return nil // what a manager has sent stays, and readiness says how old it is
			}
			p.feed.accept(p.status.fresh())
		}
	}
}
