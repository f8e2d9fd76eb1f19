package blobcache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// needs is what is needed, by whom. It is guarded by Blobs.mu.
type needs struct {
	owners map[string]ownedNeed
	blobs  map[blobKey]*neededBlob
	// images counts the owners of each image, by imageKey.
	images map[string]int
	// changed tells the prefetcher that there may be something to do.
	changed chan struct{}
}

type ownedNeed struct {
	plan   registry.Plan
	secret [sha256.Size]byte
}

// neededBlob is one layer that somebody is going to boot.
type neededBlob struct {
	ref    registry.Reference
	digest string
	size   int64
	// owners are who needs it, each with the client that its secret makes.
	owners map[string]*auth.Client

	failures int
	again    time.Time // not to be prefetched before
}

// client is that of the owner who comes first by name: whose does not matter, and
// it should not change without a reason.
func (n *neededBlob) client() *auth.Client {
	return n.owners[slices.Min(slices.Collect(maps.Keys(n.owners)))]
}

// Pin keeps the layers of the plan that owner boots from now on, in place of what it pinned before. The layers are fetched before a
// machine asks, and are the last to make room for others. pullSecret is the content of a dockerconfigjson Secret, or empty: it opens
// the layers of the plan and nothing else, and what it opened is served as long as somebody pins it. An error is about the pull
// secret; the layers are then pinned without it.
func (b *Cache) Pin(owner string, plan registry.Plan, pullSecret []byte) error {
	ref := registry.Reference{Registry: plan.Registry, Repository: plan.Repository}
	client, err := b.upstream.Login(ref, pullSecret)
	if err != nil {
		client = b.upstream.Anonymous
	}
	wanted := ownedNeed{plan: plan, secret: sha256.Sum256(pullSecret)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if had, ok := b.needs.owners[owner]; ok && had.secret == wanted.secret && had.plan.Equal(wanted.plan) {
		return err
	}
	b.unpin(owner)
	b.needs.owners[owner] = wanted
	for _, key := range imageKeys(plan) {
		b.needs.images[key]++
	}
	for _, layer := range plan.Layers() {
		key := blobKey{ref.Name(), layer.Digest}
		blob := b.needs.blobs[key]
		if blob == nil {
			blob = &neededBlob{ref: ref, digest: layer.Digest, size: layer.Size, owners: map[string]*auth.Client{}}
			b.needs.blobs[key] = blob
			b.store.pin(layer.Digest)
		}
		blob.owners[owner] = client
		blob.failures, blob.again = 0, time.Time{}
		if d := b.downloads[key]; d != nil && !d.needed {
			b.end(d, errSuperseded)
		}
	}
	select {
	case b.needs.changed <- struct{}{}:
	default:
	}
	return err
}

// Unpin ends what Pin did for owner.
func (b *Cache) Unpin(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unpin(owner)
}

func (b *Cache) unpin(owner string) {
	had, ok := b.needs.owners[owner]
	if !ok {
		return
	}
	delete(b.needs.owners, owner)
	for _, key := range imageKeys(had.plan) {
		if b.needs.images[key]--; b.needs.images[key] <= 0 {
			delete(b.needs.images, key)
		}
	}
	name := registry.Reference{Registry: had.plan.Registry, Repository: had.plan.Repository}.Name()
	for _, layer := range had.plan.Layers() {
		key := blobKey{name, layer.Digest}
		if blob := b.needs.blobs[key]; blob != nil {
			if delete(blob.owners, owner); len(blob.owners) == 0 {
				delete(b.needs.blobs, key)
				b.store.unpin(layer.Digest)
			}
		}
	}
}

// imageKeys are what clients call the image of a plan.
func imageKeys(p registry.Plan) []string {
	name := registry.Reference{Registry: p.Registry, Repository: p.Repository}.Name()
	keys := []string{imageKey(name, p.Digest)}
	if p.Tag != "" {
		keys = append(keys, imageKey(name, p.Tag))
	}
	return keys
}

// needed reports whether somebody boots a blob of a repository.
func (b *Cache) needed(key blobKey) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.needs.blobs[key] != nil
}

// neededImage reports whether somebody boots an image.
func (b *Cache) neededImage(ref registry.Reference) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.needs.images[imageKey(ref.Name(), ref.Version())] > 0
}

// clientOf is who may fetch a blob: anybody, unless somebody needs it and has a
// secret for it. The caller holds mu.
func (b *Cache) clientOf(key blobKey) *auth.Client {
	if blob := b.needs.blobs[key]; blob != nil {
		return blob.client()
	}
	return b.strangers.Anonymous
}

func (b *Cache) upstreamFor(needed bool) *registry.Client {
	if needed {
		return b.upstream
	}
	return b.strangers
}

// admit refuses a blob that a pull secret opened to who asks for it where nobody
// needs it, unless the registry gives it to anybody.
func (b *Cache) admit(ctx context.Context, key blobKey, ref registry.Reference) error {
	if !b.private(key) || b.needed(key) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(b.opts.Timeout, headTimeout))
	defer cancel()
	done, err := b.unneeded.call(ctx)
	if err != nil {
		return err
	}
	defer done()
	if _, err := b.strangers.BlobSize(ctx, b.strangers.Anonymous, ref, key.digest); err != nil {
		return err
	}
	b.store.publish(key.digest)
	return nil
}

// private reports whether a pull secret opened a blob that is here, or comes.
func (b *Cache) private(key blobKey) bool {
	if b.store.private(key.digest) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.downloads[key]
	return d != nil && d.private
}

// prefetch fetches what is needed and not there, one blob after the other, until
// the context ends. Machines do not wait for it: they start a download of their
// own, or join this one.
func (b *Cache) prefetch(ctx context.Context) {
	for {
		blob, wait := b.nextMissing()
		if blob != nil {
			b.fetchNeeded(ctx, blob)
		}
		if ctx.Err() != nil {
			return
		}
		if blob != nil {
			continue
		}
		var timeUp <-chan time.Time
		stop := func() bool { return false }
		if wait > 0 {
			timer := b.opts.Clock.NewTimer(wait)
			timeUp, stop = timer.C(), timer.Stop
		}
		select {
		case <-timeUp:
		case <-b.needs.changed:
		case <-ctx.Done():
		}
		stop()
	}
}

// nextMissing finds a needed blob that is not there, and otherwise how long it is
// until one may be tried again, zero meaning until something changes.
func (b *Cache) nextMissing() (next *neededBlob, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.opts.Clock.Now()
	for _, blob := range b.needs.blobs {
		if b.store.has(blob.digest) {
			continue
		}
		if left := blob.again.Sub(now); left > 0 {
			if wait == 0 || left < wait {
				wait = left
			}
			continue
		}
		if next == nil || byName(blob, next) < 0 {
			next = blob
		}
	}
	return next, wait
}

// byName orders blobs so that what is fetched first does not depend on chance.
func byName(a, b *neededBlob) int {
	return cmp.Or(cmp.Compare(a.ref.Name(), b.ref.Name()), cmp.Compare(a.digest, b.digest))
}

// fetchNeeded downloads a blob, or notes when to try again.
func (b *Cache) fetchNeeded(ctx context.Context, blob *neededBlob) {
	err := b.fetchQuietly(ctx, blob)
	if err == nil || ctx.Err() != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	blob.failures++
	wait := b.opts.Backoff(blob.failures)
	if errors.Is(err, ErrCacheFull) || errors.Is(err, ErrTooLarge) {
		wait = b.opts.MaxBackoff // until others are needed no more
	}
	blob.again = b.opts.Clock.Now().Add(wait)
}

func (b *Cache) fetchQuietly(ctx context.Context, blob *neededBlob) error {
	if !b.store.fits(blob.size) {
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
