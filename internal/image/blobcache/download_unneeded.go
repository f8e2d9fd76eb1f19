package blobcache

import (
	"context"
	"time"
)

// unneededPause is how long the download of an unneeded blob waits after each buffer while a needed blob is downloaded:
// 1 MiB/s is left to it.
const unneededPause = 250 * time.Millisecond

// reserve reserves space in the store for bytes that have arrived for an unneeded blob. While a needed blob is downloaded it waits before.
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
