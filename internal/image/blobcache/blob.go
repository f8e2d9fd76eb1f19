package blobcache

import (
	"context"
	"errors"
	"io"
	"net/url"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// Blob is a blob for one reader.
type Blob struct {
	// ReadSeeker reads the blob from its beginning. It is an *os.File where the whole blob is on disk, so that the kernel can
	// send it; else it waits for bytes that a download has not brought yet. It is nil in what Stat returns.
	io.ReadSeeker
	Digest string
	Size   int64
	// Release ends the reading, if it is set.
	Release func()
}

// Close ends the reading. Until then the cache keeps the blob.
func (b *Blob) Close() {
	if b.Release != nil {
		b.Release()
	}
}

// UnneededError is the failure of a request for a blob that no plan names. Anybody can cause any number of them.
type UnneededError struct{ Err error }

func (e UnneededError) Error() string { return e.Err.Error() }

// Unwrap returns what the request failed with.
func (e UnneededError) Unwrap() error { return e.Err }

// Open returns the blob that a URL of LayerURL or UKIURL names. Unless it has to be verified, it may be one that is still being
// downloaded: its last byte comes only after the whole has been verified. A part of a blob must come from a verified one: the
// client has no digest to check it with, and its last byte comes too early.
func (b *Cache) Open(ctx context.Context, u *url.URL, verified bool) (*Blob, error) {
	name, err := b.find(ctx, u)
	if err != nil {
		return nil, err
	}
	blob, err := b.open(ctx, name.Image, name.Digest, verified)
	if err != nil {
		return nil, b.refused(ctx, err, b.needed(keyOf(name)))
	}
	return blob, nil
}

// Stat returns what is known of the blob that a URL names, without its content.
func (b *Cache) Stat(ctx context.Context, u *url.URL) (*Blob, error) {
	name, err := b.find(ctx, u)
	if err != nil {
		return nil, err
	}
	size, err := b.size(ctx, name.Image, name.Digest)
	if err != nil {
		return nil, b.refused(ctx, err, b.needed(keyOf(name)))
	}
	return &Blob{Digest: name.Digest, Size: size}, nil
}

func keyOf(name registry.BlobName) blobKey { return blobKey{name.Image.Name(), name.Digest} }

// find returns which blob a URL names, with its digest.
func (b *Cache) find(ctx context.Context, u *url.URL) (registry.BlobName, error) {
	name, err := registry.ParseURL(u)
	if err == nil {
		err = b.upstream.Check(name.Image)
	}
	if err != nil {
		return name, b.refused(ctx, err, false)
	}
	if name.Digest == "" {
		layer, err := b.layer(ctx, name.Image, name.Layer)
		if err != nil {
			return name, b.refused(ctx, err, b.neededImage(name.Image))
		}
		name.Digest = layer.Digest
	}
	return name, nil
}

// refused counts a failure if it is one of a blob that nobody needs, and marks it as such. A client that has gone was not refused.
func (b *Cache) refused(ctx context.Context, err error, needed bool) error {
	if needed {
		return err
	}
	if reason := refusal(err); reason != "" && (ctx.Err() == nil || errors.Is(err, context.DeadlineExceeded)) {
		b.metrics.refused.WithLabelValues(reason).Inc()
	}
	return UnneededError{err}
}
