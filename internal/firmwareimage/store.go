package firmwareimage

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/cache/resolver"
)

// MaxSize is how large an image may be, in bytes. The largest bundles of vendors have some hundred megabytes.
const MaxSize = 2 << 30

var (
	// ErrDigest reports an image that has another digest than it should.
	ErrDigest = errors.New("the image has another digest")
	// ErrTooLarge reports an image that is larger than MaxSize, or than all that may be kept.
	ErrTooLarge = errors.New("the image is too large")
	// ErrFull reports that there is no room for an image beside those that are needed.
	ErrFull = errors.New("there is no room for the image")
)

const (
	// At most so many images are fetched at once, and one that could not be is fetched again after these pauses.
	parallel   = 2
	firstRetry = 15 * time.Second
	lastRetry  = 10 * time.Minute
)

// Options say how a Store works. Dir, Limit and Clock are required.
type Options struct {
	// Dir is for nothing but images. What is in it from an earlier run and has a digest is used again, after it was verified again.
	Dir string
	// Limit is how many bytes of images there may be on disk.
	Limit int64
	// BaseURL is under which BMCs reach the handler; empty: they do not.
	BaseURL string
	// Key is the installation's, of which the paths are made that BMCs fetch images from.
	Key   []byte
	Clock clock.WithTicker
	// Transport fetches; nil: by HTTP and HTTPS, with the proxies that the environment names.
	Transport http.RoundTripper
}

// Source says which image is meant: from where, and with which SHA-256 in lower-case hexadecimal digits; an empty Digest leaves that open.
type Source struct{ URI, Digest string }

// Fetchable reports whether a Store can fetch by the scheme of a URI.
func Fetchable(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// Request is an image that is needed, with the credentials for its server.
type Request struct {
	Source
	Username string
	Password bmc.Secret
}

// Image is one that was fetched and verified.
type Image struct {
	// Name is the last part of the path of its URI, from which some BMCs know what it is.
	Name   string
	Size   int64
	Digest string
	path   string
}

// Open opens the image from its beginning.
func (i Image) Open() (io.ReadCloser, error) { return os.Open(i.path) }

// Store has the images that somebody needs. It fetches while Run does.
type Store struct {
	options  Options
	paths    paths
	client   *http.Client
	resolver *resolver.Resolver[Source, Request, Image]

	mu sync.Mutex
	// needs are what its owners need, and owners those of each source.
	needs  map[string]Source
	owners map[Source]map[string]struct{}
	// reserved is room of images that are being fetched.
	reserved    int64
	subscribers []func(owner string)
}

// New returns a store that has nothing but what an earlier run left.
func New(o Options) (*Store, error) {
	s := &Store{
		options: o, paths: newPaths(o.Key), client: newClient(o.Transport),
		needs: map[string]Source{}, owners: map[Source]map[string]struct{}{},
	}
	if err := s.clean(); err != nil {
		return nil, err
	}
	s.resolver = resolver.New(resolver.Config[Source, Request, Image]{
		Resolve: s.fetch, Parallel: parallel, MinBackoff: firstRetry, MaxBackoff: lastRetry, Clock: o.Clock,
		Patient: func(err error) bool { return errors.Is(err, ErrDigest) || errors.Is(err, ErrTooLarge) },
	})
	s.resolver.Subscribe(s.changed)
	return s, nil
}

// Run fetches until ctx ends.
func (s *Store) Run(ctx context.Context) error { return s.resolver.Run(ctx) }

// Subscribe adds a function that is called with every owner who needs an image of which something new is known. It must not block.
func (s *Store) Subscribe(changed func(owner string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, changed)
}

func (s *Store) changed(r Request) {
	s.mu.Lock()
	subscribers := s.subscribers
	var owners []string
	for owner := range s.owners[r.Source] {
		owners = append(owners, owner)
	}
	s.mu.Unlock()
	for _, tell := range subscribers {
		for _, owner := range owners {
			tell(owner)
		}
	}
}

// Need returns the image of a request, which stays until its owner needs another one or is Done. False means that it is being fetched:
// subscribers hear of it. The error is why the last attempt failed; the store tries again.
func (s *Store) Need(owner string, r Request) (image Image, known bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, has := s.needs[owner]; has && before != r.Source {
		s.release(owner)
	}
	s.needs[owner] = r.Source
	if s.owners[r.Source] == nil {
		s.owners[r.Source] = map[string]struct{}{}
	}
	s.owners[r.Source][owner] = struct{}{}
	result, known := s.resolver.Lookup(r.Source, r)
	return result.Value, known, result.Err
}

// Done ends what an owner needs.
func (s *Store) Done(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(owner)
}

// Again has the image of an owner fetched anew: a person says that its server is right now.
func (s *Store) Again(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if source, has := s.needs[owner]; has {
		s.resolver.Forget(source)
	}
}

// release forgets an owner; the caller has locked mu. What has no digest goes with the last one: who needs it next needs what is published then.
func (s *Store) release(owner string) {
	source, has := s.needs[owner]
	if !has {
		return
	}
	delete(s.needs, owner)
	delete(s.owners[source], owner)
	if len(s.owners[source]) > 0 {
		return
	}
	delete(s.owners, source)
	s.resolver.Forget(source)
	if source.Digest == "" {
		_ = os.Remove(s.file(source)) // nobody finds it, and the next start removes it
	}
}

// needed reports whether somebody needs a source.
func (s *Store) needed(source Source) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.owners[source]) > 0
}
