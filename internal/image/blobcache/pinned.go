package blobcache

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// needs is what is needed, by whom. It is guarded by Cache.mu.
type needs struct {
	owners map[string]ownedNeed
	blobs  map[blobKey]*neededBlob
	// images counts the owners of each image, by imageKey.
	images map[string]int
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
				b.prefetch.Forget(key)
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
