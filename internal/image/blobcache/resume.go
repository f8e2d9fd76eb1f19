package blobcache

import (
	"context"
	"errors"
	"os"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// resumePartial begins where an earlier download of the blob broke off. Readers see nothing of it before the registry has agreed to go on.
func (d *download) resumePartial(ctx context.Context, b *Cache) error {
	if !d.needed {
		return nil // the same blob may be pinned in another repository
	}
	l := b.store.takePartial(d.digest)
	if l == nil {
		return nil
	}
	if err := l.rehash(ctx, d.sum); err != nil {
		if ctx.Err() != nil {
			b.store.returnPartial(l)
			return err
		}
		_ = os.Remove(l.path)
		d.sum.Reset()
		return nil
	}
	d.partial, d.written, d.size = l, l.have, l.size
	return nil
}

// startOver fetches from its beginning a blob that turned out to be another one,
// if somebody else than its registry may be the cause: mirrors, which are then
// not asked, or the disk that a partial blob was on. Readers who have got
// nothing yet go on reading; the others are cut off.
func (d *download) startOver() bool {
	if d.partial == nil && len(d.mirrors) == 0 {
		return false
	}
	for _, m := range d.mirrors {
		if d.needed {
			m.Rest(registry.MirrorDistrust)
		}
	}
	d.direct, d.mirrors = d.direct || len(d.mirrors) > 0, nil
	if d.partial != nil && d.file == nil {
		_ = os.Remove(d.partial.path)
		d.size = 0
	}
	d.partial = nil
	d.sum.Reset()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written = 0
	d.generation++
	d.signal()
	return true
}

// giveUp returns to the store what it reserved, or the partial blob.
func (d *download) giveUp(b *Cache, err error) {
	switch {
	case d.reserved != nil:
		b.store.discardUnneeded(d.file, d.reserved)
	case d.file == nil && d.partial != nil:
		b.store.returnPartial(d.partial)
	case d.file == nil:
	case resumable(err) || errors.Is(err, ErrClosed) || errors.Is(err, ErrAbandoned):
		b.store.interrupt(d.file, d.digest, d.size, d.written)
	default:
		b.store.discard(d.file, d.size)
	}
}
