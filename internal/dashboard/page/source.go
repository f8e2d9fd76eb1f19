package page

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/logbook"
	"github.com/farrier-dev/farrier/internal/overview"
)

// Source is what pages read, with the rights of whoever looks. A function that is nil reads nothing; its page says so.
type Source struct {
	Objects client.Reader
	// Fleet is what all who may see everything share, which nobody changes; nil objects: this person may not, and Objects says what they see.
	Fleet func(ctx context.Context) (*overview.Objects, *overview.Fleet, error)
	// Boots are the newest requests of a machine, by its UUID.
	Boots func(ctx context.Context, uuid string) (operator.Boots, error)
	// Logbook is what was done to a Server and seen of it.
	Logbook func(ctx context.Context, server string) ([]logbook.Entry, error)
	// Unknown are the machines that asked for a boot and got nothing.
	Unknown func(ctx context.Context) ([]operator.UnknownMachine, error)
	// Cached are the images whose blobs are kept.
	Cached func(ctx context.Context) ([]CachedImage, error)
	// Manager is the manager's namespace.
	Manager string
	Now     time.Time
}

// CachedImage is an image of which the cache keeps blobs.
type CachedImage struct {
	// Name is the reference without its tag: registry and repository; empty: layers that nobody boots now, of any.
	Name string
	// Blobs are so many layers of Wanted, which are those that somebody boots, and Bytes how large they are.
	Blobs, Wanted int
	Bytes         int64
}

// ErrNotFound says that what a page is about does not exist.
var ErrNotFound = errors.New("there is none of that name")

// errNotServed is why something is not known that nobody tells here.
var errNotServed = errors.New("this Farrier does not tell it")

// get reads an object. What does not exist is ErrNotFound.
func (s Source) get(ctx context.Context, key client.ObjectKey, into client.Object) error {
	err := s.Objects.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %q", ErrNotFound, key.Name)
	}
	return err
}

func (s Source) boots(ctx context.Context, uuid string) (operator.Boots, error) {
	if s.Boots == nil {
		return operator.Boots{}, errNotServed
	}
	return s.Boots(ctx, uuid)
}

func (s Source) logbook(ctx context.Context, server string) ([]logbook.Entry, error) {
	if s.Logbook == nil {
		return nil, errNotServed
	}
	return s.Logbook(ctx, server)
}

func (s Source) unknown(ctx context.Context) ([]operator.UnknownMachine, error) {
	if s.Unknown == nil {
		return nil, errNotServed
	}
	return s.Unknown(ctx)
}

// fleet is all that there is as far as the person may see it, and what a filter chooses of it. What is shared must not be changed.
func (s Source) fleet(ctx context.Context, filter overview.Filter) (objects *overview.Objects, fleet *overview.Fleet, missing []string, err error) {
	if s.Fleet != nil {
		if objects, fleet, err = s.Fleet(ctx); err != nil {
			return nil, nil, nil, err
		}
	}
	switch {
	case objects == nil:
		if objects, missing, err = overview.Gather(ctx, s.Objects); err != nil {
			return nil, nil, nil, err
		}
	case filter.All():
		return objects, fleet, nil, nil
	}
	return objects, overview.Of(objects, filter, s.Now), missing, nil
}
