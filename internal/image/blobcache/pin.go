package blobcache

import (
	"context"
	"crypto/sha256"
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
}

type ownedPin struct {
	plan   registry.Plan
	secret [sha256.Size]byte
}

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
	wanted := ownedPin{plan: plan, secret: sha256.Sum256(pullSecret)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if had, ok := b.pins.owners[owner]; ok && had.secret == wanted.secret && had.plan.Equal(wanted.plan) {
		return err
	}
	b.unpin(owner)
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
	return err
}

// Unpin ends what Pin did for owner.
func (b *Cache) Unpin(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
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

// admit refuses a blob that a pull secret opened, where it is not pinned, unless the registry gives it to anybody.
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
