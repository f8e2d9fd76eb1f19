package registry

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/farrier-dev/farrier/internal/cache/resolver"
)

// Request asks what an image offers a machine.
type Request struct {
	Reference string
	// Architecture is the machine's; empty means the configured one.
	Architecture string
	// PullSecret is the content of a dockerconfigjson Secret, or empty.
	PullSecret []byte
}

// Result is what is known about a Request.
type Result struct {
	// Plan is the last good answer. It stays when the registry goes away; then
	// Err is then set. It is zero when there never was one.
	Plan Plan
	// Err is the error of the last attempt, nil if it succeeded.
	Err error
	// At is when the registry last confirmed Plan, zero when it never did.
	At time.Time
}

// Resolver finds out, in the background, what images offer. Nobody waits for it: Lookup returns what is known, Subscribe tells when that
// changes. Each distinct Request is resolved once however often it is asked for, again after a failure with growing pauses, and now and
// then as long as it names a tag.
type Resolver struct {
	opts   Options
	client *Client
	plans  *resolver.Resolver[requestKey, question, Plan]
}

// requestKey identifies a Request without keeping its secret in a map's keys.
type requestKey struct {
	reference, architecture string
	secret                  [sha256.Size]byte
}

// question is a Request whose reference has been read.
type question struct {
	Request
	ref          Reference
	architecture string
}

// NewResolver returns a resolver that works while Run does.
func NewResolver(o Options) (*Resolver, error) {
	o = o.WithDefaults()
	client, err := NewClient(o)
	if err != nil {
		return nil, err
	}
	r := &Resolver{opts: o, client: client}
	r.plans = resolver.New(resolver.Config[requestKey, question, Plan]{
		Resolve: r.resolve, Parallel: o.Parallel, MinBackoff: o.MinBackoff, MaxBackoff: o.MaxBackoff, Refresh: r.refresh, Clock: o.Clock,
		Changed: func(before, after resolver.Result[Plan]) bool {
			return !sameError(before.Err, after.Err) || !before.Value.Equal(after.Value)
		},
	})
	return r, nil
}

// Lookup returns what is known about a request, without waiting. False means that nothing is known yet: it is being resolved, and
// subscribers will hear. What needs no registry to be refused (a reference that does not parse, a registry that is not allowed) is known
// at once.
func (r *Resolver) Lookup(req Request) (Result, bool) {
	ref, err := ParseReference(req.Reference)
	if err == nil {
		err = r.client.Check(ref)
	}
	if err != nil {
		return Result{Err: err}, true
	}
	key := r.key(req)
	found, known := r.plans.Lookup(key, question{req, ref, key.architecture})
	return Result{Plan: found.Value, Err: found.Err, At: found.At}, known
}

// Forget ends the resolving of a request that nobody needs any more.
func (r *Resolver) Forget(req Request) { r.plans.Forget(r.key(req)) }

// Subscribe adds a function that is called by goroutines of Run, several at once and without locks held, whenever Lookup would return something new
// about a request. It must not block.
func (r *Resolver) Subscribe(changed func(Request)) {
	r.plans.Subscribe(func(q question) { changed(q.Request) })
}

// Run resolves until the context ends, and returns when the last call has ended.
func (r *Resolver) Run(ctx context.Context) error {
	defer r.client.CloseIdleConnections()
	return r.plans.Run(ctx)
}

// resolve makes one attempt.
func (r *Resolver) resolve(ctx context.Context, q question) (Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	plan, err := r.plan(ctx, q)
	if err != nil {
		r.opts.Logger.V(1).Info("image not resolved", "image", q.ref.String(), "error", err)
	}
	return plan, err
}

func (r *Resolver) plan(ctx context.Context, q question) (Plan, error) {
	client, err := r.client.Login(q.ref, q.PullSecret)
	if err != nil {
		return Plan{}, err
	}
	image, err := r.client.Resolve(ctx, client, q.ref, q.architecture)
	if err != nil {
		return Plan{}, err
	}
	return image.Plan()
}

// refresh returns how often a request is resolved anew. A digest never means another image.
func (r *Resolver) refresh(q question) time.Duration {
	if q.ref.Digest != "" {
		return 0
	}
	return r.opts.Refresh
}

// sameError compares what errors mean. Their texts may differ from one attempt
// to the next (a local port, for example), which is no news to anybody.
func sameError(a, b error) bool { return meaning(a) == meaning(b) }

func meaning(err error) any {
	if missing, ok := errors.AsType[ErrMissingLayer](err); ok {
		return missing
	}
	for _, class := range []error{
		ErrNotAllowed, ErrNotFound, ErrDenied, ErrUnreachable, ErrCorrupt,
		ErrInvalidManifest, ErrNoArchitecture, ErrPullSecret, ErrUnsigned, context.DeadlineExceeded,
	} {
		if errors.Is(err, class) {
			return class
		}
	}
	return err == nil
}

func (r *Resolver) key(req Request) requestKey {
	architecture := req.Architecture
	if architecture == "" {
		architecture = r.opts.Architecture
	}
	key := requestKey{reference: req.Reference, architecture: canonicalArchitecture(architecture)}
	if len(req.PullSecret) > 0 {
		key.secret = sha256.Sum256(req.PullSecret)
	}
	return key
}
