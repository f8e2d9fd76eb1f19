package blobcache

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrAbandoned ends a download of an unneeded blob that no client waits for.
	ErrAbandoned = errors.New("no client waits for the blob any more")
	// errSuperseded ends a download of an unneeded blob that is now pinned: a download of a needed blob takes its place.
	errSuperseded = errors.New("the blob is pinned now")
)

// neededDeadline bounds the download of a needed blob. It allows for a slow line: see neededPace.
const neededDeadline = 12 * time.Hour

// watch ends downloads that nobody waits for and downloads that take too long, until the context ends.
func (b *Cache) watch(ctx context.Context) {
	ticker := b.opts.Clock.NewTicker(b.opts.Unneeded.Grace / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
			b.endUseless(b.opts.Clock.Now())
		case <-ctx.Done():
			return
		}
	}
}

func (b *Cache) endUseless(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, d := range b.downloads {
		limit := neededDeadline
		if !d.needed {
			limit = b.opts.Unneeded.Deadline
		}
		switch {
		case now.Sub(d.began) >= limit:
			b.end(d, fmt.Errorf("%w: the download took longer than %s", context.DeadlineExceeded, limit))
		case b.pins.blobs[key] == nil && d.abandoned(now, b.opts.Unneeded.Grace):
			b.metrics.abandoned.Inc()
			b.end(d, ErrAbandoned)
		}
	}
}

// end cancels a download. A later request for the blob starts another one. The caller holds mu.
func (b *Cache) end(d *download, why error) {
	delete(b.downloads, d.key())
	d.cancel(why)
}

// abandoned reports whether no client has waited for a download during the grace period. The caller keeps clients from joining meanwhile.
func (d *download) abandoned(now time.Time, grace time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users > 1 { // others than run
		d.idle = time.Time{}
		return false
	}
	if d.idle.IsZero() {
		d.idle = now
	}
	return now.Sub(d.idle) >= grace
}
