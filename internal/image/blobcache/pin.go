package blobcache

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// pinSet is what is pinned, by whom. Cache.mu guards it.
type pinSet struct {
	owners map[string]ownedPin
	blobs  map[blobKey]*pinnedBlob
	// images counts the owners of each image, by imageKey.
	images map[string]int

	pinned   func(owner string, pin registry.Pin)
	unpinned func(owner string)
}

type ownedPin struct {
	plan    registry.Plan
	secret  [sha256.Size]byte
	site    string
	version uint64
}

// same reports whether a pin leads to the same layers by the same secret.
func (p ownedPin) same(o ownedPin) bool { return p.secret == o.secret && p.plan.Equal(o.plan) }

// pinnedBlob is a layer that somebody is going to boot.
type pinnedBlob struct {
	ref    registry.Reference
	digest string
	size   int64
	// owners are those who pinned it, each with the client that its pull secret makes.
	owners map[string]*auth.Client
}

// client returns the client of the owner who comes first by name: any would do, and the choice is stable.
func (n *pinnedBlob) client() *auth.Client {
	return n.owners[slices.Min(slices.Collect(maps.Keys(n.owners)))]
}

// ObservePins has pinned told of every pin that is new or not what it was, and unpinned of every one that is no longer, in the order of
// the changes and while a lock is held: they must be quick, must not wait for anybody and must not ask the cache. ObservePins is
// called once, before the first pin.
func (b *Cache) ObservePins(pinned func(owner string, pin registry.Pin), unpinned func(owner string)) {
	b.pins.pinned, b.pins.unpinned = pinned, unpinned
}

// Pin keeps the layers of the plan that owner boots from now on, in place of what it pinned before. The layers are fetched before a
// machine asks, and are the last to make room for others. What the pull secret opened is served as long as somebody pins it. An error
// is about the pull secret; the layers are then pinned without it.
func (b *Cache) Pin(owner string, pin registry.Pin) error {
	ref := registry.Reference{Registry: pin.Plan.Registry, Repository: pin.Plan.Repository}
	client, err := b.upstream.Login(ref, pin.PullSecret)
	if err != nil {
		client = b.upstream.Anonymous
	}
	wanted := ownedPin{plan: pin.Plan, secret: sha256.Sum256(pin.PullSecret), site: pin.Site, version: pin.Version}
	b.mu.Lock()
	defer b.mu.Unlock()
	had, ok := b.pins.owners[owner]
	if ok && had.same(wanted) && had.site == wanted.site && had.version == wanted.version {
		return err
	}
	if b.pins.pinned != nil {
		b.pins.pinned(owner, pin)
	}
	if !ok || !had.same(wanted) {
		b.unpin(owner)
		b.pin(owner, wanted, client)
	} else {
		b.pins.owners[owner] = wanted
	}
	return err
}

// pin keeps the layers of an owner who has none. The caller holds mu.
func (b *Cache) pin(owner string, wanted ownedPin, client *auth.Client) {
	plan := wanted.plan
	ref := registry.Reference{Registry: plan.Registry, Repository: plan.Repository}
	b.pins.owners[owner] = wanted
	for _, key := range imageKeys(plan) {
		b.pins.images[key]++
	}
	for _, layer := range plan.Layers() {
		key := blobKey{ref.Name(), layer.Digest}
		blob := b.pins.blobs[key]
		if blob == nil {
			blob = &pinnedBlob{ref: ref, digest: layer.Digest, size: layer.Size, owners: map[string]*auth.Client{}}
			b.pins.blobs[key] = blob
			b.store.pin(layer.Digest)
		}
		blob.owners[owner] = client
		b.prefetch.Forget(key) // failures of another owner's
		b.prefetch.Lookup(key, key)
		if d := b.downloads[key]; d != nil && !d.needed {
			b.end(d, errSuperseded)
		}
	}
}

// Unpin ends what Pin did for owner.
func (b *Cache) Unpin(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.pins.owners[owner]; ok && b.pins.unpinned != nil {
		b.pins.unpinned(owner)
	}
	b.unpin(owner)
}

func (b *Cache) unpin(owner string) {
	had, ok := b.pins.owners[owner]
	if !ok {
		return
	}
	delete(b.pins.owners, owner)
	for _, key := range imageKeys(had.plan) {
		if b.pins.images[key]--; b.pins.images[key] <= 0 {
			delete(b.pins.images, key)
		}
	}
	name := registry.Reference{Registry: had.plan.Registry, Repository: had.plan.Repository}.Name()
	for _, layer := range had.plan.Layers() {
		key := blobKey{name, layer.Digest}
		if blob := b.pins.blobs[key]; blob != nil {
			if delete(blob.owners, owner); len(blob.owners) == 0 {
				delete(b.pins.blobs, key)
				b.store.unpin(layer.Digest)
				b.prefetch.Forget(key)
			}
		}
	}
}

// imageKeys returns the names by which clients ask for the image of a plan.
func imageKeys(p registry.Plan) []string {
	name := registry.Reference{Registry: p.Registry, Repository: p.Repository}.Name()
	keys := []string{imageKey(name, p.Digest)}
	if p.Tag != "" {
		keys = append(keys, imageKey(name, p.Tag))
	}
	return keys
}

// needed reports whether a blob of a repository is pinned.
func (b *Cache) needed(key blobKey) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pins.blobs[key] != nil
}

// neededImage reports whether an image is pinned.
func (b *Cache) neededImage(ref registry.Reference) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pins.images[imageKey(ref.Name(), ref.Version())] > 0
}

// clientOf returns the client to fetch a blob with: an anonymous one, unless the blob is pinned with a pull secret. The caller holds mu.
func (b *Cache) clientOf(key blobKey) *auth.Client {
	if blob := b.pins.blobs[key]; blob != nil {
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

// admit refuses a blob that is not pinned, where a pull secret opened it and the registry does not give it to anybody, or where images
// have to be signed: of a pinned one alone it is known that its image is.
func (b *Cache) admit(ctx context.Context, key blobKey, ref registry.Reference) error {
	if b.needed(key) {
		return nil
	}
	if b.upstream.RequiresSignatures() {
		return fmt.Errorf("%w: no boot configuration names an image of %s with blob %s", registry.ErrUnsigned, ref.Name(), key.digest)
	}
	if !b.private(key) {
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
