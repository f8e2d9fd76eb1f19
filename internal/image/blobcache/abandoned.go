package blobcache

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrAbandoned ends a download that nobody needs and nobody waits for.
	ErrAbandoned = errors.New("nobody waits for the blob any more")
	// errSuperseded ends a download of something unneeded that has become needed: it begins anew, as such.
	errSuperseded = errors.New("the blob has become needed")
)

// neededDeadline bounds a download of something needed. A slow line is not at fault: see neededPace.
const neededDeadline = 12 * time.Hour

// watch ends the downloads that have no use or no end, until the context ends.
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
		case b.needs.blobs[key] == nil && d.abandoned(now, b.opts.Unneeded.Grace):
			b.metrics.abandoned.Inc()
			b.end(d, ErrAbandoned)
		}
	}
}

// end cancels a download. Who asks for the blob from now on gets another one. The caller holds mu.
func (b *Cache) end(d *download, why error) {
	delete(b.downloads, d.key())
	d.cancel(why)
}

// abandoned reports whether nobody has waited for a download for a while. Only those are asked for that cannot be joined
// meanwhile.
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
