package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Blobs serves layers of images to machines. It keeps them on disk, verified;
// downloads each once however many machines ask for it, and lets all of them
// read while it downloads. Close ends its downloads.
type Blobs struct {
	opts     Options
	upstream *upstream
	store    *store

	ctx    context.Context
	cancel context.CancelCauseFunc
	// work has one for each download and manifest call.
	work sync.WaitGroup
	// downloading and asking bound the downloads and the short calls to
	// registries that are under way at once.
	downloading chan struct{}
	asking      chan struct{}
	manifests   singleflight.Group

	mu        sync.Mutex
	closed    bool
	downloads map[blobKey]*download
	sizes     map[blobKey]int64
	images    map[string]knownImage
	needs     needs
}

// blobKey names a blob of a repository. The repository belongs to it so that
// asking for a blob where it is not does no harm to who asks where it is.
type blobKey struct{ name, digest string }

// knownImage is what an image was found to be, for clients that name layers.
type knownImage struct {
	image resolved
	at    time.Time
}

const (
	// maxKnown bounds what is remembered of sizes and of images. Beyond it all
	// is forgotten, which costs a call each to learn again.
	maxKnown = 4096
	// imageFresh is how long a tag is taken to point where it did.
	imageFresh = time.Minute
	// headTimeout leaves time to answer before firmware gives up: UEFI's HTTP
	// boot waits 5 s.
	headTimeout = 4 * time.Second
)

var (
	// errClosed ends what is under way at Close.
	errClosed = errors.New("image cache is closing")
	errDigest = errors.New("digest is not sha256: and 64 lower-case hexadecimal digits")
)

// NewBlobs opens the cache in the directory of the options and takes up what
// an earlier run left there.
func NewBlobs(o Options) (*Blobs, error) {
	o = o.withDefaults()
	if o.Dir == "" {
		return nil, errors.New("image cache: no directory is given")
	}
	up, err := newUpstream(o)
	if err != nil {
		return nil, err
	}
	store, err := openStore(o.Dir, o.MaxBytes)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	b := &Blobs{
		opts:        o,
		upstream:    up,
		store:       store,
		ctx:         ctx,
		cancel:      cancel,
		downloading: make(chan struct{}, o.Parallel),
		asking:      make(chan struct{}, o.Parallel),
		downloads:   make(map[blobKey]*download),
		sizes:       make(map[blobKey]int64),
		images:      make(map[string]knownImage),
		needs: needs{
			owners: make(map[string]ownedNeed), blobs: make(map[blobKey]*neededBlob), changed: make(chan struct{}, 1),
		},
	}
	b.work.Go(func() { b.prefetch(ctx) })
	return b, nil
}

// Close ends all downloads and waits for them. Clients that are reading are
// cut off.
func (b *Blobs) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel(errClosed)
	b.work.Wait()
	b.upstream.client.CloseIdleConnections()
	return nil
}

func (b *Blobs) describe(key blobKey, size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.describeLocked(key, size)
}

func (b *Blobs) describeLocked(key blobKey, size int64) {
	if len(b.sizes) >= maxKnown {
		clear(b.sizes)
	}
	b.sizes[key] = size
}

// described is how large a blob is by the manifest of an image, zero if none has told.
func (b *Blobs) described(d *download) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sizes[blobKey{d.ref.Name(), d.digest}]
}

// content is a blob to be read by one client.
type content struct {
	io.ReadSeeker
	close func()
}

// open returns a blob, from the store or from a download. A download is handed
// out while it runs, unless the caller wants it verified first.
func (b *Blobs) open(ctx context.Context, ref Reference, digest string, verified bool) (content, error) {
	if err := b.admit(ctx, blobKey{ref.Name(), digest}, ref); err != nil {
		return content{}, err
	}
	for {
		file, release, err := b.store.open(digest, b.opts.Clock.Now())
		if err == nil {
			return content{file, release}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return content{}, err
		}
		d, err := b.join(ref, digest)
		if err != nil {
			return content{}, err
		}
		if d == nil {
			continue // it has been stored since
		}
		if err = b.awaitStart(ctx, d); err != nil {
			d.leave()
			return content{}, err
		}
		if !verified {
			return content{&follower{ctx: ctx, download: d}, d.leave}, nil
		}
		// From the store, where the kernel sends it. As long as this reader has not
		// left the download, nothing evicts it.
		err = d.awaitEnd(ctx)
		if err == nil {
			file, release, err = b.store.open(digest, b.opts.Clock.Now())
		}
		d.leave()
		if err != nil {
			return content{}, err
		}
		return content{file, release}, nil
	}
}

// join returns the download of a blob, a new one if there is none. It returns
// none if the blob has been stored.
func (b *Blobs) join(ref Reference, digest string) (*download, error) {
	key := blobKey{ref.Name(), digest}
	b.mu.Lock()
	defer b.mu.Unlock()
	if d, ok := b.downloads[key]; ok {
		d.join()
		return d, nil
	}
	if b.closed {
		return nil, errClosed
	}
	if b.store.has(digest) {
		return nil, nil
	}
	d := newDownload(ref, digest, b.clientOf(key))
	d.private = d.client != b.upstream.anonymous
	d.join()
	b.downloads[key] = d
	b.work.Go(func() { d.run(b.ctx, b) })
	return d, nil
}

func (b *Blobs) forget(d *download) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.downloads, blobKey{d.ref.Name(), d.digest})
}

// awaitStart waits until a download can be read, for as long as the registry
// may take to answer.
func (b *Blobs) awaitStart(ctx context.Context, d *download) error {
	timer := b.opts.Clock.NewTimer(b.opts.Timeout)
	defer timer.Stop()
	select {
	case <-d.started:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C():
		return fmt.Errorf("%w: download of %s has not begun", context.DeadlineExceeded, d.digest)
	}
	if d.file == nil {
		_, _, _, err := d.readable()
		return err
	}
	return nil
}

// size tells how large a blob is. It asks the registry only for a blob that
// nobody has described.
func (b *Blobs) size(ctx context.Context, ref Reference, digest string) (int64, error) {
	key := blobKey{ref.Name(), digest}
	if err := b.admit(ctx, key, ref); err != nil {
		return 0, err
	}
	if size, ok := b.store.size(digest); ok {
		return size, nil
	}
	b.mu.Lock()
	size, ok := b.sizes[key]
	client := b.clientOf(key)
	b.mu.Unlock()
	if ok {
		return size, nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(b.opts.Timeout, headTimeout))
	defer cancel()
	if err := b.ask(ctx); err != nil {
		return 0, err
	}
	defer b.asked()
	size, err := b.upstream.blobSize(ctx, client, ref, digest)
	if err == nil {
		b.describe(key, size)
	}
	return size, err
}

// ask waits for a turn to call a registry.
func (b *Blobs) ask(ctx context.Context) error {
	select {
	case b.asking <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *Blobs) asked() { <-b.asking }

// layer finds the layer that a client names by its media type. When the
// registry is away, what was known of the image is still good.
func (b *Blobs) layer(ctx context.Context, ref Reference, name string) (Layer, error) {
	image, err := b.image(ctx, ref)
	if err != nil {
		return Layer{}, err
	}
	layer, ok := layerNamed(image.layers, name)
	if !ok {
		return Layer{}, fmt.Errorf("%w: %s has no layer %q", ErrNotFound, ref, name)
	}
	b.describe(blobKey{ref.Name(), layer.Digest}, layer.Size)
	return layer, nil
}

func (b *Blobs) image(ctx context.Context, ref Reference) (resolved, error) {
	key := ref.Name() + "@" + ref.Version()
	b.mu.Lock()
	known, ok := b.images[key]
	closed := b.closed
	b.mu.Unlock()
	if ok && (ref.Digest != "" || b.opts.Clock.Since(known.at) < imageFresh) {
		return known.image, nil
	}
	if closed {
		return resolved{}, errClosed
	}
	answer := b.manifests.DoChan(key, func() (any, error) { return b.fetchImage(b.ctx, key, ref) })
	select {
	case result := <-answer:
		if result.Err == nil {
			return result.Val.(resolved), nil
		}
		if ok && resumable(result.Err) {
			return known.image, nil
		}
		return resolved{}, result.Err
	case <-ctx.Done():
		return resolved{}, context.Cause(ctx)
	}
}

// fetchImage asks the registry on behalf of everybody who waits for it.
func (b *Blobs) fetchImage(ctx context.Context, key string, ref Reference) (resolved, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	if err := b.ask(ctx); err != nil {
		return resolved{}, err
	}
	defer b.asked()
	image, err := b.upstream.resolve(ctx, b.upstream.anonymous, ref, b.opts.Architecture)
	if err != nil {
		return resolved{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.images) >= maxKnown {
		clear(b.images)
	}
	b.images[key] = knownImage{image: image, at: b.opts.Clock.Now()}
	return image, nil
}
