package blobcache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
	"github.com/farrier-dev/farrier/internal/cache/resolver"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// Cache has layers of images for machines. It keeps them on disk, verified. It downloads each layer once however many machines ask for
// it. All of them read while it downloads a pinned layer (pin.go); layers that nobody pinned have a budget (budget.go). Close ends its
// downloads.
type Cache struct {
	opts Options
	// strangers asks the same registries as upstream, for unneeded blobs.
	upstream, strangers *registry.Client
	store               *store

	ctx    context.Context
	cancel context.CancelCauseFunc
	// work has one for each download.
	work sync.WaitGroup
	// unneeded is the budget for unneeded blobs.
	unneeded *budget
	// urgent counts the downloads of what is needed that are under way.
	urgent    atomic.Int32
	metrics   *metrics
	prefetch  *resolver.Resolver[blobKey, blobKey, struct{}]
	manifests singleflight.Group

	mu        sync.Mutex
	closed    bool
	downloads map[blobKey]*download
	// places are those of what is needed, by registry: one that hangs stops no other.
	places map[string]places
	sizes  bounded.Map[blobKey, int64]
	// images are those that are pinned, others those that are not.
	images bounded.Map[string, knownImage]
	others bounded.Map[string, knownImage]
	pins   pinSet
}

// places bound the downloads and the short calls to a registry that are under way at once.
type places struct{ downloading, asking chan struct{} }

// blobKey names a blob of a repository. The repository belongs to it so that
// asking for a blob where it is not does no harm to who asks where it is.
type blobKey struct{ name, digest string }

// knownImage is what an image was found to be, for clients that name layers.
type knownImage struct {
	image registry.Image
	at    time.Time
}

const (
	// maxKnown bounds what is remembered of sizes and of images. What is forgotten costs a call to learn again.
	maxKnown = 4096
	// maxOthers bounds how many images are remembered that are not pinned, maxOther the bytes of the layers' names of each.
	maxOthers = 64
	maxOther  = 64 << 10
	// imageFresh is how long a tag is taken to point where it did.
	imageFresh = time.Minute
	// headTimeout leaves time to answer before firmware gives up: UEFI's HTTP
	// boot waits 5 s.
	headTimeout = 4 * time.Second
)

// ErrClosed ends what is under way at Close.
var ErrClosed = errors.New("image cache is closing")

// New opens the cache in the directory of the options, with what an earlier run left there.
func New(o Options) (*Cache, error) {
	o = o.withDefaults()
	if o.Dir == "" {
		return nil, errors.New("image cache: no directory is given")
	}
	up, err := registry.NewClient(o.Options)
	if err != nil {
		return nil, err
	}
	store, err := openStore(o.Dir, o.MaxBytes, o.Unneeded.Bytes)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	b := &Cache{
		opts:      o,
		upstream:  up,
		strangers: up.ForStrangers(),
		store:     store,
		ctx:       ctx,
		cancel:    cancel,
		unneeded:  newBudget(o.Unneeded, o.Clock),
		metrics:   newMetrics(),
		downloads: make(map[blobKey]*download),
		places:    make(map[string]places),
		pins: pinSet{
			owners: make(map[string]ownedPin), blobs: make(map[blobKey]*pinnedBlob), images: make(map[string]int),
		},
	}
	b.prefetch = b.newPrefetch()
	b.work.Go(func() { _ = b.prefetch.Run(ctx) })
	b.work.Go(func() { b.watch(ctx) })
	return b, nil
}

// Close ends all downloads and waits for them. Clients that are reading are
// cut off.
func (b *Cache) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel(ErrClosed)
	b.work.Wait()
	b.upstream.CloseIdleConnections()
	return nil
}

func (b *Cache) describe(key blobKey, size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sizes.Put(key, size, maxKnown)
}

// described returns the size of a blob by the manifest of an image, zero if no manifest is known. That of a pinned image wins.
func (b *Cache) described(key blobKey) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if blob := b.pins.blobs[key]; blob != nil {
		return blob.size
	}
	size, _ := b.sizes.Get(key)
	return size
}

// placesOf returns the places of a registry. It is one of the allowed ones.
func (b *Cache) placesOf(host string) places {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.places[host]
	if !ok {
		p = places{make(chan struct{}, b.opts.Parallel), make(chan struct{}, b.opts.Parallel)}
		b.places[host] = p
	}
	return p
}

// open returns a blob, from the store or from a download. A download is handed
// out while it runs, unless the caller wants it verified first, or nobody needs it.
func (b *Cache) open(ctx context.Context, ref registry.Reference, digest string, verified bool) (*Blob, error) {
	if err := b.admit(ctx, blobKey{ref.Name(), digest}, ref); err != nil {
		return nil, err
	}
	for {
		file, release, err := b.store.open(digest, b.opts.Clock.Now())
		if err == nil {
			b.metrics.stored.Inc()
			return storedBlob(file, release, digest)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		d, needed, err := b.join(ref, digest)
		if err != nil {
			return nil, err
		}
		if d == nil {
			continue // it has been stored since
		}
		got, err := b.follow(ctx, d, verified || !needed)
		if errors.Is(err, errSuperseded) {
			continue // it is needed now
		}
		if err == nil {
			b.metrics.joined.Inc()
		}
		return got, err
	}
}

// follow returns the content of a download that has been joined.
func (b *Cache) follow(ctx context.Context, d *download, verified bool) (*Blob, error) {
	if err := b.awaitStart(ctx, d); err != nil {
		d.leave()
		return nil, err
	}
	if !verified {
		return &Blob{ReadSeeker: &follower{ctx: ctx, download: d}, Digest: d.digest, Size: d.size, Release: d.leave}, nil
	}
	// From the store, where the kernel sends it. As long as this reader has not
	// left the download, only what is needed evicts it.
	defer d.leave()
	if err := d.awaitEnd(ctx); err != nil {
		return nil, err
	}
	file, release, err := b.store.open(d.digest, b.opts.Clock.Now())
	if errors.Is(err, fs.ErrNotExist) {
		err = errPreempted
	}
	if err != nil {
		return nil, err
	}
	return storedBlob(file, release, d.digest)
}

// storedBlob is a blob of the store.
func storedBlob(file *os.File, release func(), digest string) (*Blob, error) {
	info, err := file.Stat()
	if err != nil {
		release()
		return nil, fmt.Errorf("image cache: %w", err)
	}
	return &Blob{ReadSeeker: file, Digest: digest, Size: info.Size(), Release: release}, nil
}

// join returns the download of a blob, a new one if there is none, and whether
// somebody needs it. It returns none if the blob has been stored.
func (b *Cache) join(ref registry.Reference, digest string) (d *download, needed bool, err error) {
	key := blobKey{ref.Name(), digest}
	b.mu.Lock()
	defer b.mu.Unlock()
	needed = b.pins.blobs[key] != nil
	if d, ok := b.downloads[key]; ok {
		d.join()
		return d, needed, nil
	}
	if b.closed {
		return nil, false, ErrClosed
	}
	if b.store.has(digest) {
		return nil, needed, nil
	}
	if !needed {
		if err := b.unneeded.admit(key); err != nil {
			return nil, false, err
		}
	}
	d = newDownload(ref, digest, b.clientOf(key))
	d.private = needed && d.client != b.upstream.Anonymous
	d.needed, d.began = needed, b.opts.Clock.Now()
	d.join()
	b.downloads[key] = d
	ctx, cancel := context.WithCancelCause(b.ctx)
	d.cancel = cancel
	b.work.Go(func() {
		defer cancel(nil)
		d.run(ctx, b)
	})
	return d, needed, nil
}

// forget ends that a download can be joined. There may be another one of the blob by now.
func (b *Cache) forget(d *download) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.downloads[d.key()] == d {
		delete(b.downloads, d.key())
	}
}

// awaitStart waits until a download can be read, for as long as the registry
// may take to answer.
func (b *Cache) awaitStart(ctx context.Context, d *download) error {
	timer := b.opts.Clock.NewTimer(b.opts.Timeout)
	defer timer.Stop()
	select {
	case <-d.started:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C():
		if !d.needed && !d.atWork.Load() {
			return fmt.Errorf("%w: %s waits for its turn", ErrBusy, d.digest)
		}
		return fmt.Errorf("%w: download of %s has not begun", context.DeadlineExceeded, d.digest)
	}
	if d.file == nil {
		_, _, _, err := d.readable()
		return err
	}
	return nil
}
