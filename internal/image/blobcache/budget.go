package blobcache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// Budget bounds the work for unneeded blobs and images: those that no plan names, which anybody can ask for. A zero field has its
// default.
type Budget struct {
	// Bytes is the share of the cache. Default: a quarter of it.
	Bytes int64
	// Parallel bounds the downloads, and the short calls to registries, that are under way at once. Default: 2.
	Parallel int
	// Queue bounds those that wait for their turn. Default: 16.
	Queue int
	// PerMinute bounds what registries are asked, half of it at once. Default: 60.
	PerMinute int
	// Grace is how long a download goes on that nobody waits for: firmware gives up and comes back. Default: 15s.
	Grace time.Duration
	// Deadline bounds a download. Default: 30m.
	Deadline time.Duration
	// Remember is how long it is remembered that a blob cannot be had. Default: 30s.
	Remember time.Duration
}

func (l Budget) withDefaults(maxBytes int64) Budget {
	if l.Bytes <= 0 {
		l.Bytes = maxBytes / 4
	}
	if l.Parallel <= 0 {
		l.Parallel = 2
	}
	if l.Queue <= 0 {
		l.Queue = 16
	}
	if l.PerMinute <= 0 {
		l.PerMinute = 60
	}
	if l.Grace <= 0 {
		l.Grace = 15 * time.Second
	}
	if l.Deadline <= 0 {
		l.Deadline = 30 * time.Minute
	}
	if l.Remember <= 0 {
		l.Remember = 30 * time.Second
	}
	return l
}

var (
	// ErrBusy reports that as many requests for unneeded blobs are under way as may be.
	ErrBusy = errors.New("image cache is busy with what no boot configuration names")
	// ErrTooMany reports that unneeded blobs are requested too often.
	ErrTooMany = errors.New("too many requests for what no boot configuration names")
)

// maxFailed bounds what is remembered of blobs that cannot be had, to about a megabyte.
const maxFailed = 1024

// budget is the part of a Budget that is left.
type budget struct {
	limits Budget
	clock  clock.PassiveClock
	// downloading and asking have one for each download and short call under way.
	downloading, asking chan struct{}

	mu sync.Mutex
	// downloads and calls count those that wait as well.
	downloads, calls int
	tokens           float64
	at               time.Time // when tokens was right
	failed           bounded.Map[blobKey, failedBlob]
}

type failedBlob struct {
	err   error
	until time.Time
}

func newBudget(limits Budget, c clock.PassiveClock) *budget {
	u := &budget{
		limits: limits, clock: c, at: c.Now(),
		downloading: make(chan struct{}, limits.Parallel), asking: make(chan struct{}, limits.Parallel),
	}
	u.tokens = u.burst()
	return u
}

func (u *budget) burst() float64 { return float64(u.limits.PerMinute) / 2 }

// spend takes one request to a registry from the budget. The caller holds mu.
func (u *budget) spend() error {
	now := u.clock.Now()
	u.tokens = min(u.burst(), u.tokens+max(0, now.Sub(u.at).Minutes())*float64(u.limits.PerMinute))
	u.at = now
	if u.tokens < 1 {
		return ErrTooMany
	}
	u.tokens--
	return nil
}

// admit adds a download to the budget, unless the blob failed a moment ago. The download must leave.
func (u *budget) admit(key blobKey) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.failure(key); err != nil {
		return err
	}
	if u.downloads >= u.limits.Parallel+u.limits.Queue {
		return fmt.Errorf("%w: %d downloads", ErrBusy, u.downloads)
	}
	if err := u.spend(); err != nil {
		return err
	}
	u.downloads++
	return nil
}

// leave removes a download from the budget. It remembers failures of the blob itself, not those of the way to it.
func (u *budget) leave(key blobKey, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.downloads--
	u.remember(key, err)
}

func (u *budget) remember(key blobKey, err error) {
	for _, lasting := range []error{registry.ErrNotFound, registry.ErrDenied, registry.ErrCorrupt, ErrTooLarge} {
		if errors.Is(err, lasting) {
			u.failed.Put(key, failedBlob{err, u.clock.Now().Add(u.limits.Remember)}, maxFailed)
			return
		}
	}
}

// failure returns why a blob could not be fetched a moment ago, nil if nothing is known against it. The caller holds mu.
func (u *budget) failure(key blobKey) error {
	if failed, ok := u.failed.Get(key); ok && u.clock.Now().Before(failed.until) {
		return failed.err
	}
	return nil
}

// call waits for a turn to send a registry a short request. The caller calls done when it is answered.
func (u *budget) call(ctx context.Context) (done func(), err error) {
	u.mu.Lock()
	if u.calls >= u.limits.Parallel+u.limits.Queue {
		err = fmt.Errorf("%w: %d calls", ErrBusy, u.calls)
	} else {
		err = u.spend()
	}
	if err == nil {
		u.calls++
	}
	u.mu.Unlock()
	if err != nil {
		return nil, err
	}
	leave, err := turn(ctx, u.asking)
	if err != nil {
		u.called()
		return nil, err
	}
	return func() {
		leave()
		u.called()
	}, nil
}

func (u *budget) called() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls--
}

// blobCall is call for a request about one blob. It remembers a failure.
func (u *budget) blobCall(ctx context.Context, key blobKey) (done func(error), err error) {
	u.mu.Lock()
	err = u.failure(key)
	u.mu.Unlock()
	if err != nil {
		return nil, err
	}
	called, err := u.call(ctx)
	if err != nil {
		return nil, err
	}
	return func(err error) {
		called()
		u.mu.Lock()
		defer u.mu.Unlock()
		u.remember(key, err)
	}, nil
}

// turn waits for a place among those that are at work at once.
func turn(ctx context.Context, places chan struct{}) (done func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
