package content

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
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

// Options are how a resolver asks.
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

	mu      sync.Mutex
	entries map[[sha256.Size]byte]*inquiry
	notify  []func(Request)
	changed chan struct{} // has room for one: something is due
}

// inquiry is a request that somebody is interested in.
type inquiry struct {
	request  Request
	result   Result
	answered bool // or failed
	running  bool
	failures int
	due      time.Time
}

// NewResolver returns a resolver that has asked nobody.
func NewResolver(o Options) *Resolver {
	if o.Timeout == 0 {
		o.Timeout = Timeout
	}
	return &Resolver{options: o, entries: map[[sha256.Size]byte]*inquiry{}, changed: make(chan struct{}, 1)}
}

// Subscribe has f called when the result of a request has changed. It must not block.
func (r *Resolver) Subscribe(f func(Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notify = append(r.notify, f)
}

// Lookup returns what is known, and whether the server has been asked yet. From the first
// lookup on the answer is kept fresh until it is forgotten.
func (r *Resolver) Lookup(request Request) (Result, bool) {
	if err := r.options.Hosts.Check(request.URL); err != nil {
		return Result{Err: err}, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[request.ID()]
	if e == nil {
		e = &inquiry{request: request, due: r.options.Clock.Now()}
		r.entries[request.ID()] = e
		r.wake()
	}
	return e.result, e.answered
}

// Forget says that nobody needs an answer any more.
func (r *Resolver) Forget(request Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.entries, request.ID())
}

func (r *Resolver) wake() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Run asks what is due, until its context ends.
func (r *Resolver) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, concurrent)
	for ctx.Err() == nil {
		next, pause := r.next()
		if next == nil {
			timer := r.options.Clock.NewTimer(pause)
			select {
			case <-ctx.Done():
			case <-r.changed:
			case <-timer.C():
			}
			timer.Stop()
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case slots <- struct{}{}:
		}
		running.Go(func() {
			defer func() { <-slots }()
			body, err := r.fetch(ctx, next.request)
			if ctx.Err() == nil {
				r.finish(next, body, err)
			}
		})
	}
	return nil
}

// next takes the inquiry that has been due for longest; without one it says for how long
// nothing is.
func (r *Resolver) next() (*inquiry, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first *inquiry
	for _, e := range r.entries {
		if !e.running && (first == nil || e.due.Before(first.due)) {
			first = e
		}
	}
	if first == nil {
		return nil, Refresh
	}
	if pause := first.due.Sub(r.options.Clock.Now()); pause > 0 {
		return nil, pause
	}
	first.running = true
	return first, 0
}

// finish keeps an answer and tells those who wait for it, if it is another than before.
func (r *Resolver) finish(e *inquiry, body []byte, err error) {
	r.mu.Lock()
	before, first := e.result, !e.answered
	e.running, e.answered = false, true
	e.result.Err = err
	pause := Refresh
	if err == nil {
		e.result.Bytes, e.result.Found, e.failures = body, true, 0
	} else {
		pause = min(firstRetry<<min(e.failures, 10), Refresh)
		e.failures++
	}
	e.due = r.options.Clock.Now().Add(pause)
	changed := first || !bytes.Equal(before.Bytes, e.result.Bytes) || before.Found != e.result.Found || fmt.Sprint(before.Err) != fmt.Sprint(err)
	notify := r.notify
	r.mu.Unlock()
	r.wake()
	if changed {
		for _, f := range notify {
			f(e.request)
		}
	}
}
