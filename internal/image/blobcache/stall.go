package blobcache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// pace is the least that a registry has to send.
type pace struct {
	bytes int64
	in    time.Duration
}

// The least rates. A site may be far from its registry, and is served all the same: 17 kB/s for what is needed. What
// nobody needs has to come as fast as clients of the boot server have to read: 70 kB/s.
var (
	neededPace   = pace{1 << 20, time.Minute}
	unneededPace = pace{4 << 20, time.Minute}
)

// errSlow reports a registry that sends too little to ever come to an end.
var errSlow = errors.New("registry is too slow")

// stallGuard ends a download that stands still, or nearly: a deadline for the whole
// of it would depend on its size.
type stallGuard struct {
	io.Reader
	idle, slow *time.Timer
	limit      time.Duration
	least      pace
	sent       int64 // since slow was set
}

// guardStalls returns a context that ends when neither call nor body makes
// progress for the limit, or the body less than the pace, and what to wrap the
// body in. Stop must be called.
func guardStalls(ctx context.Context, limit time.Duration, least pace) (guarded context.Context, wrap func(io.Reader) io.Reader, stop func()) {
	guarded, cancel := context.WithCancelCause(ctx)
	idle := time.AfterFunc(limit, func() {
		cancel(fmt.Errorf("registry sent nothing for %s: %w", limit, context.DeadlineExceeded))
	})
	slow := time.AfterFunc(limit+least.in, func() {
		cancel(fmt.Errorf("%w: less than %d bytes in %s: %w", errSlow, least.bytes, least.in, context.DeadlineExceeded))
	})
	wrap = func(r io.Reader) io.Reader {
		idle.Reset(limit)
		slow.Reset(least.in)
		return &stallGuard{Reader: r, idle: idle, slow: slow, limit: limit, least: least}
	}
	return guarded, wrap, func() {
		idle.Stop()
		slow.Stop()
		cancel(nil)
	}
}

func (g *stallGuard) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if err == nil {
		g.idle.Reset(g.limit)
	}
	if g.sent += int64(n); g.sent >= g.least.bytes {
		g.sent = 0
		g.slow.Reset(g.least.in)
	}
	return n, err
}
