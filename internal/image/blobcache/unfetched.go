package blobcache

import (
	"context"
	"errors"
	"fmt"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// UnfetchedError is why a layer of a pinned image is not here. Its text is the same for the same cause, whatever an attempt was answered: people read
// it for as long as attempts fail. The log has the rest.
type UnfetchedError struct {
	// Layer is its digest, Image the repository.
	Layer, Image string
	Cause        error
}

func (e UnfetchedError) Error() string { return fmt.Sprintf("%v: %s@%s", e.Cause, e.Image, e.Layer) }

// Unwrap returns the cause.
func (e UnfetchedError) Unwrap() error { return e.Cause }

// Unfetched returns for each owner of a pin why a layer is not here, if the last attempt to fetch it failed: of several layers the first by digest.
func (b *Cache) Unfetched() map[string]UnfetchedError {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all map[string]UnfetchedError
	for key, blob := range b.pins.blobs {
		result, _ := b.prefetch.Lookup(key, key)
		if result.Err == nil || b.store.has(key.digest) { // a machine's own request may have fetched it since
			continue
		}
		failed := UnfetchedError{Layer: key.digest, Image: key.name, Cause: causeOf(result.Err)}
		for owner := range blob.owners {
			if other, known := all[owner]; known && other.Layer <= failed.Layer {
				continue
			}
			if all == nil {
				all = map[string]UnfetchedError{}
			}
			all[owner] = failed
		}
	}
	return all
}

// causes are the errors that people can do something about.
var causes = []error{
	registry.ErrNotAllowed, registry.ErrUnsigned, registry.ErrNotFound, registry.ErrDenied, registry.ErrCorrupt, ErrCacheFull, ErrTooLarge, context.DeadlineExceeded, registry.ErrUnreachable,
}

// errUnfetched is the cause of an error that is none of them, such as one of the disk.
var errUnfetched = errors.New("the download failed, see the log of the boot server")

func causeOf(err error) error {
	for _, cause := range causes {
		if errors.Is(err, cause) {
			return cause
		}
	}
	return errUnfetched
}
