package blobcache

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/farrier-dev/farrier/internal/cache/resolver"
)

// newPrefetch returns what fetches pinned blobs that are not there, one after the other. Machines do not wait for it: they start a
// download of their own, or join this one. Now and then it looks whether a blob is still there.
func (b *Cache) newPrefetch() *resolver.Resolver[blobKey, blobKey, struct{}] {
	return resolver.New(resolver.Config[blobKey, blobKey, struct{}]{
		Resolve: func(ctx context.Context, key blobKey) (struct{}, error) { return struct{}{}, b.fetchPinned(ctx, key) },
		// One at a time, in an order that does not depend on chance.
		Parallel: 1, Before: byName,
		MinBackoff: b.opts.MinBackoff, MaxBackoff: b.opts.MaxBackoff, Clock: b.opts.Clock,
		// Until others are pinned no more.
		Patient: func(err error) bool { return errors.Is(err, ErrCacheFull) || errors.Is(err, ErrTooLarge) },
		Refresh: func(blobKey) time.Duration { return b.opts.Refresh },
	})
}

func byName(x, y blobKey) bool {
	return cmp.Or(cmp.Compare(x.name, y.name), cmp.Compare(x.digest, y.digest)) < 0
}

// fetchPinned downloads a pinned blob if it is not there.
func (b *Cache) fetchPinned(ctx context.Context, key blobKey) error {
	b.mu.Lock()
	blob := b.pins.blobs[key]
	b.mu.Unlock()
	switch {
	case blob == nil, b.store.has(key.digest):
		return nil
	case !b.store.fits(blob.size):
		return ErrCacheFull
	}
	d, _, err := b.join(blob.ref, blob.digest)
	if d == nil || err != nil {
		return err
	}
	defer d.leave()
	if err := b.awaitStart(ctx, d); err != nil {
		return err
	}
	return d.awaitEnd(ctx)
}
