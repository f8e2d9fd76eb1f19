package content

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/cache/resolver"
)

const (
	// Timeout bounds one exchange, from the connection to the last byte.
	Timeout = 10 * time.Second
	// Refresh is how often an answer is asked for again.
	Refresh = 5 * time.Minute
	// firstRetry and Refresh bound the pauses after failures, which double.
	firstRetry = 5 * time.Second
	// concurrent bounds how many servers are asked at once.
	concurrent = 8
)

// Options configures a Resolver.
type Options struct {
	Hosts Hosts
	// MaxBytes bounds an answer.
	MaxBytes int64
	Clock    clock.WithTicker
	// Timeout is [Timeout] when zero.
	Timeout time.Duration
}

// Resolver asks servers and keeps what they answer. Run has to run for it to ask.
type Resolver struct {
	options Options
	answers *resolver.Resolver[[sha256.Size]byte, Request, []byte]
	ask     func(context.Context, Request) ([]byte, error) // fetch; a test has another
}

// NewResolver returns a resolver that has asked nobody.
func NewResolver(o Options) *Resolver {
	if o.Timeout == 0 {
		o.Timeout = Timeout
	}
	r := &Resolver{options: o}
	r.ask = r.fetch
	r.answers = resolver.New(resolver.Config[[sha256.Size]byte, Request, []byte]{
		Resolve:  func(ctx context.Context, request Request) ([]byte, error) { return r.ask(ctx, request) },
		Parallel: concurrent, MinBackoff: firstRetry, MaxBackoff: Refresh, Clock: o.Clock,
		Refresh: func(Request) time.Duration { return Refresh },
		Changed: differ,
	})
	return r
}

// Subscribe has f called when the result of a request has changed. It must not block.
func (r *Resolver) Subscribe(f func(Request)) { r.answers.Subscribe(f) }

// Lookup returns what is known, and whether the server has been asked yet. From the first lookup on the answer is kept fresh until it is
// forgotten.
func (r *Resolver) Lookup(request Request) (Result, bool) {
	if err := r.options.Hosts.Check(request.URL); err != nil {
		return Result{Err: err}, true
	}
	found, asked := r.answers.Lookup(request.ID(), request)
	return Result{Bytes: found.Value, Found: !found.At.IsZero(), Err: found.Err}, asked
}

// Forget says that nobody needs an answer any more.
func (r *Resolver) Forget(request Request) { r.answers.Forget(request.ID()) }

// Run asks what is due, until its context ends.
func (r *Resolver) Run(ctx context.Context) error { return r.answers.Run(ctx) }

// differ reports whether a result is another one than before for those who read it: profiles show the text of the error.
func differ(before, after resolver.Result[[]byte]) bool {
	return !bytes.Equal(before.Value, after.Value) || before.At.IsZero() != after.At.IsZero() || fmt.Sprint(before.Err) != fmt.Sprint(after.Err)
}
