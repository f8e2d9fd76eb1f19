package registry

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"
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
	// Err says so. It is zero when there never was one.
	Plan Plan
	// Err is what the last attempt failed with, nil if it succeeded.
	Err error
	// At is when the registry last confirmed Plan, zero when it never did.
	At time.Time
}

// Resolver finds out, in the background, what images offer. Nobody waits for
// it: Lookup tells what is known, Subscribe tells when that changes. Each
// distinct Request is resolved once however often it is asked for, again after
// a failure with growing pauses, and now and then as long as it names a tag.
type Resolver struct {
	opts     Options
	upstream *Client

	mu          sync.Mutex
	entries     map[requestKey]*entry
	due         dueQueue
	subscribers []func(Request)
	// wake tells Run that the head of due may have changed.
	wake chan struct{}
}

// requestKey identifies a Request without keeping its secret in a map's keys.
type requestKey struct {
	reference, architecture string
	secret                  [sha256.Size]byte
}

// entry is one Request. All fields but the first three are guarded by Resolver.mu.
type entry struct {
	key     requestKey
	request Request
	ref     Reference

	known    bool
	result   Result
	failures int

	at    time.Time // when it is due
	index int       // in the queue, -1 while it is not there
}

// NewResolver returns a resolver that works while Run does.
func NewResolver(o Options) (*Resolver, error) {
	o = o.WithDefaults()
	up, err := NewClient(o)
	if err != nil {
		return nil, err
	}
	return &Resolver{
		opts:     o,
		upstream: up,
		entries:  make(map[requestKey]*entry),
		wake:     make(chan struct{}, 1),
	}, nil
}

// Lookup tells what is known about a request, without waiting. False means
// that nothing is known yet: it is being resolved, and subscribers will hear.
// What needs no registry to be refused (a reference that does not parse, a
// registry that is not allowed) is known at once.
func (r *Resolver) Lookup(req Request) (Result, bool) {
	key := r.key(req)
	r.mu.Lock()
	if e, ok := r.entries[key]; ok {
		defer r.mu.Unlock()
		return e.result, e.known
	}
	r.mu.Unlock()

	ref, err := ParseReference(req.Reference)
	if err == nil {
		err = r.upstream.Check(ref)
	}
	if err != nil {
		return Result{Err: err}, true
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[key]
	if !ok {
		e = &entry{key: key, request: req, ref: ref, index: -1}
		r.entries[key] = e
		r.schedule(e, 0)
	}
	return e.result, e.known
}

// Forget ends the resolving of a request that nobody needs any more.
func (r *Resolver) Forget(req Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.entries[r.key(req)]; ok {
		delete(r.entries, e.key)
		r.due.remove(e)
	}
}

// Subscribe adds a function that is called, from a goroutine of Run and without
// locks held, whenever Lookup would tell something new about a request. It must
// not block.
func (r *Resolver) Subscribe(changed func(Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscribers = append(r.subscribers, changed)
}

// Run resolves until the context ends, and returns when the last call has ended.
func (r *Resolver) Run(ctx context.Context) error {
	defer r.upstream.client.CloseIdleConnections()
	var calls sync.WaitGroup
	defer calls.Wait()
	slots := make(chan struct{}, r.opts.Parallel)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		e, ok := r.next(ctx)
		if !ok {
			return nil
		}
		calls.Go(func() {
			defer func() { <-slots }()
			r.resolve(ctx, e)
		})
	}
}

// next waits for the next entry that is due and takes it out of the queue.
func (r *Resolver) next(ctx context.Context) (*entry, bool) {
	for {
		r.mu.Lock()
		e, wait := r.due.take(r.opts.Clock.Now())
		r.mu.Unlock()
		if e != nil {
			return e, true
		}
		var timeUp <-chan time.Time
		stop := func() bool { return false }
		if wait > 0 {
			timer := r.opts.Clock.NewTimer(wait)
			timeUp, stop = timer.C(), timer.Stop
		}
		select {
		case <-timeUp:
		case <-r.wake:
		case <-ctx.Done():
			stop()
			return nil, false
		}
		stop()
	}
}

// resolve makes one attempt and records what came of it.
func (r *Resolver) resolve(ctx context.Context, e *entry) {
	call, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	plan, err := r.plan(call, e)
	if ctx.Err() != nil {
		return // the end of Run is not an answer
	}
	if !r.record(e, plan, err) {
		return
	}
	r.mu.Lock()
	subscribers := r.subscribers
	r.mu.Unlock()
	for _, changed := range subscribers {
		changed(e.request)
	}
}

func (r *Resolver) plan(ctx context.Context, e *entry) (Plan, error) {
	client, err := r.upstream.Login(e.ref, e.request.PullSecret)
	if err != nil {
		return Plan{}, err
	}
	image, err := r.upstream.Resolve(ctx, client, e.ref, e.key.architecture)
	if err != nil {
		return Plan{}, err
	}
	return image.plan()
}

// record stores the outcome of an attempt, plans the next, and reports whether
// there is something new to tell.
func (r *Resolver) record(e *entry, plan Plan, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[e.key] != e {
		return false // forgotten meanwhile
	}
	before, wasKnown := e.result, e.known
	e.known = true
	e.result.Err = err
	if err != nil {
		e.failures++
		r.schedule(e, r.opts.Backoff(e.failures))
		r.opts.Logger.V(1).Info("image could not be resolved", "image", e.ref.String(), "failures", e.failures, "error", err)
		return !wasKnown || !sameError(before.Err, err)
	}
	e.failures = 0
	e.result.Plan = plan
	e.result.At = r.opts.Clock.Now()
	if e.ref.Digest == "" {
		r.schedule(e, r.opts.Refresh)
	}
	return !wasKnown || before.Err != nil || !before.Plan.Equal(plan)
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
		ErrInvalidManifest, ErrNoArchitecture, ErrPullSecret, context.DeadlineExceeded,
	} {
		if errors.Is(err, class) {
			return class
		}
	}
	return err == nil
}

// schedule makes an entry due after a while. The caller holds mu.
func (r *Resolver) schedule(e *entry, after time.Duration) {
	r.due.add(e, r.opts.Clock.Now().Add(after))
	select {
	case r.wake <- struct{}{}:
	default:
	}
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
