package blobcache

import (
	"context"
	"fmt"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// Requests to registries beside downloads: how large a blob is, and which layers an image has.

// size returns how large a blob is. It asks the registry only if no manifest has named the blob.
func (b *Cache) size(ctx context.Context, ref registry.Reference, digest string) (int64, error) {
	key := blobKey{ref.Name(), digest}
	if err := b.admit(ctx, key, ref); err != nil {
		return 0, err
	}
	if size, ok := b.store.size(digest); ok {
		return size, nil
	}
	b.mu.Lock()
	size, ok := b.sizes.Get(key)
	if blob := b.pins.blobs[key]; blob != nil && blob.size > 0 {
		size, ok = blob.size, true
	}
	client, up := b.clientOf(key), b.upstreamFor(b.pins.blobs[key] != nil)
	b.mu.Unlock()
	if ok {
		return size, nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(b.opts.Timeout, headTimeout))
	defer cancel()
	done, err := b.askBlob(ctx, key, ref)
	if err != nil {
		return 0, err
	}
	size, err = up.BlobSize(ctx, client, ref, digest)
	if done(err); err == nil {
		b.describe(key, size)
	}
	return size, err
}

// askBlob waits for a turn to ask for a blob. The caller passes the outcome to done.
func (b *Cache) askBlob(ctx context.Context, key blobKey, ref registry.Reference) (done func(error), err error) {
	if !b.needed(key) {
		return b.unneeded.blobCall(ctx, key)
	}
	leave, err := turn(ctx, b.placesOf(ref.Registry).asking)
	return func(error) { leave() }, err
}

// layer finds the layer that a client names by its media type. When the
// registry is away, what was known of the image is still good.
func (b *Cache) layer(ctx context.Context, ref registry.Reference, name string) (registry.Layer, error) {
	image, err := b.image(ctx, ref)
	if err != nil {
		return registry.Layer{}, err
	}
	layer, ok := registry.LayerNamed(image.Layers, name)
	if !ok {
		return registry.Layer{}, fmt.Errorf("%w: %s has no layer %q", registry.ErrNotFound, ref, name)
	}
	b.describe(blobKey{ref.Name(), layer.Digest}, layer.Size)
	return layer, nil
}

// imageKey names an image as somebody asks for it: by tag or digest.
func imageKey(name, version string) string { return name + "@" + version }

func (b *Cache) image(ctx context.Context, ref registry.Reference) (registry.Image, error) {
	key := imageKey(ref.Name(), ref.Version())
	b.mu.Lock()
	known, ok := b.images.Get(key)
	if !ok {
		known, ok = b.others.Get(key)
	}
	closed := b.closed
	b.mu.Unlock()
	if ok && (ref.Digest != "" || b.opts.Clock.Since(known.at) < imageFresh) {
		return known.image, nil
	}
	if closed {
		return registry.Image{}, ErrClosed
	}
	answer := b.manifests.DoChan(key, func() (any, error) { return b.fetchImage(b.ctx, key, ref) })
	select {
	case result := <-answer:
		if result.Err == nil {
			return result.Val.(registry.Image), nil
		}
		if ok && resumable(result.Err) {
			return known.image, nil
		}
		return registry.Image{}, result.Err
	case <-ctx.Done():
		return registry.Image{}, context.Cause(ctx)
	}
}

// fetchImage asks the registry on behalf of everybody who waits for it.
func (b *Cache) fetchImage(ctx context.Context, key string, ref registry.Reference) (registry.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	done, err := b.askImage(ctx, ref)
	if err != nil {
		return registry.Image{}, err
	}
	defer done()
	up := b.upstreamFor(b.neededImage(ref))
	image, err := up.Resolve(ctx, up.Anonymous, ref, b.opts.Architecture)
	if err != nil {
		return registry.Image{}, err
	}
	b.remember(key, image)
	return image, nil
}

// askImage waits for a turn to ask for an image.
func (b *Cache) askImage(ctx context.Context, ref registry.Reference) (done func(), err error) {
	if b.neededImage(ref) {
		return turn(ctx, b.placesOf(ref.Registry).asking)
	}
	return b.unneeded.call(ctx)
}

// remember keeps what an image was found to be: few of those that nobody pinned, and none of those with long names of layers.
func (b *Cache) remember(key string, image registry.Image) {
	known := knownImage{image: image, at: b.opts.Clock.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pins.images[key] == 0 {
		size := 0
		for _, layer := range image.Layers {
			size += len(layer.MediaType) + len(layer.Digest)
		}
		if size <= maxOther {
			b.others.Put(key, known, maxOthers)
		}
		return
	}
	b.images.Put(key, known, maxKnown)
}
