package blobcache

import (
	"context"
	"time"
)

// yieldEvery is how long a download of something unneeded waits after each buffer while something needed is downloaded:
// 1 MiB/s is left to it.
const unneededPause = 250 * time.Millisecond

// makeRoom has a download of something unneeded make room for what has arrived, and lets the line to what is needed.
func (d *download) reserve(ctx context.Context, b *Cache, n int64) error {
	if d.reserved == nil {
		return nil
	}
	if b.urgent.Load() > 0 {
		select {
		case <-b.opts.Clock.After(unneededPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return b.store.grow(d.reserved, d.written+n)
}
