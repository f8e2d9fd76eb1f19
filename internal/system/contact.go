package system

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
)

// contact knows whether the process is in touch with the Kubernetes API: the watches that fill the caches say so, and the requests about the Lease.
// While any of them fails the views may be old.
type contact struct {
	mu      sync.Mutex
	lost    map[string]error
	changed chan struct{}
	away    time.Time // the last request without an answer
}

// note records how a request came out that a part of the process makes again and again; nil: as it should.
func (c *contact) note(part string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, was := c.lost[part]
	switch {
	case err != nil:
		if c.lost == nil {
			c.lost = map[string]error{}
		}
		c.lost[part] = err
	case was:
		delete(c.lost, part)
	}
	if c.changed != nil && was != (err != nil) {
		close(c.changed)
		c.changed = nil
	}
}

// Err says why the views may be old; nil: they are not.
func (c *contact) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.lost) == 0 {
		return nil
	}
	parts := make([]string, 0, len(c.lost))
	for part := range c.lost {
		parts = append(parts, part)
	}
	first := slices.Min(parts)
	return fmt.Errorf("out of touch with the Kubernetes API (%s): %w", first, c.lost[first])
}

// Changes returns a channel that is closed when a part has lost or found the API.
func (c *contact) Changes() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// await waits until every part has contact.
func (c *contact) await(ctx context.Context) error {
	for {
		changed := c.Changes()
		if c.Err() == nil {
			return ctx.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// away reports whether an error says that nobody answers who could: the API cannot be reached, or is not ready. What it says of a request is an
// answer, and a certificate that is not the API's is nothing to wait for.
func away(err error) bool {
	var untrusted *tls.CertificateVerificationError
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &untrusted) || errors.Is(err, http.ErrSchemeMismatch) {
		return false
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		// A version that the API does not have yet is asked for differently, and the reflector knows how.
		return (status.Status().Code >= http.StatusInternalServerError || apierrors.IsTooManyRequests(err)) &&
			!apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
	}
	var exchange *url.Error // what net/http says of a request that got no answer
	var network net.Error
	return errors.As(err, &exchange) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// backToAPI is how often an API that does not answer is asked again: soon, since what it has to say is late already, and not by all at once.
var backToAPI = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Steps: 4, Jitter: 0.5}

// pause returns the next wait. Backoff stays at its longest after its steps.
func pause(b *wait.Backoff) <-chan time.Time { return time.After(b.Step()) }

// settling is how long an API that has just come back may refuse everybody: it has to read accounts and roles first.
const settling = time.Minute

// passes reports whether an error comes from an API that is away, or has come back so lately that it may know nobody yet. The same request may succeed later.
func (c *contact) passes(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if away(err) {
		c.away = time.Now()
		return true
	}
	return time.Since(c.away) < settling && (apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err))
}

// AwaitAPI does something with the Kubernetes API as soon as that answers; errors of other kinds it returns.
func (s *System) AwaitAPI(ctx context.Context, do func(context.Context) error) error {
	const part = "start"
	told := false
	pauses := backToAPI
	for {
		err := do(ctx)
		if !s.contact.passes(err) {
			s.contact.note(part, nil)
			return err
		}
		s.contact.note(part, err)
		if !told {
			s.logger.Info("waiting for the Kubernetes API", "error", err)
			told = true
		}
		select {
		case <-pause(&pauses):
		case <-ctx.Done():
			return fmt.Errorf("waiting for the Kubernetes API: %w", ctx.Err())
		}
	}
}

// informer makes the informers of the caches. They note whether the API answers, and are back soon after it is: a reflector by itself waits for up
// to a minute.
func (c *contact) informer(lw toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	followed := &followed{
		inner: toolscache.ToListerWatcherWithContext(lw), contact: c, name: fmt.Sprintf("%T", of),
		listsOnly: watchlist.DoesClientNotSupportWatchListSemantics(lw),
	}
	if kind := of.GetObjectKind().GroupVersionKind().Kind; kind != "" { // metadata
		followed.name += " of " + kind
	}
	return toolscache.NewSharedIndexInformer(followed, of, resync, indexers)
}

// followed lists and watches as soon as the API answers.
type followed struct {
	inner   toolscache.ListerWatcherWithContext
	contact *contact
	name    string
	// listsOnly: what it wraps cannot stream a list as a watch.
	listsOnly bool
}

func again[T any](ctx context.Context, f *followed, ask func(context.Context) (T, error)) (T, error) {
	pauses, answers := backToAPI, false
	for {
		got, err := ask(ctx)
		if ctx.Err() != nil {
			return got, err
		}
		f.contact.note(f.name, err) // also what it refuses: nothing new comes from there
		if !f.contact.passes(err) {
			return got, err
		}
		if !answers && !away(err) { // it is there, and ready soon
			pauses, answers = backToAPI, true
		}
		select {
		case <-pause(&pauses):
		case <-ctx.Done():
			return got, err
		}
	}
}

func (f *followed) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	return again(ctx, f, func(ctx context.Context) (runtime.Object, error) { return f.inner.ListWithContext(ctx, o) })
}

func (f *followed) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return again(ctx, f, func(ctx context.Context) (watch.Interface, error) { return f.inner.WatchWithContext(ctx, o) })
}

// List and Watch are what reflectors asked before they had contexts.
func (f *followed) List(o metav1.ListOptions) (runtime.Object, error) {
	return f.ListWithContext(context.Background(), o)
}

func (f *followed) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return f.WatchWithContext(context.Background(), o)
}

// IsWatchListSemanticsUnSupported is what a reflector asks (k8s.io/client-go/util/watchlist).
func (f *followed) IsWatchListSemanticsUnSupported() bool { return f.listsOnly }
