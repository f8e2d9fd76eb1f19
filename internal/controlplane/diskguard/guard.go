package diskguard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/host/diskspace"
)

const (
	// LowMark is what must be left of the disk for anything new to be stored, OpenMark what must be there again after it was less.
	LowMark  = 64 << 20
	OpenMark = 96 << 20
	// NearMark is what is left when the log says that the disk will soon be full.
	NearMark = 4 * LowMark
	// LowFiles is the same for the number of files that there can still be.
	LowFiles = 64
	// InFlight bounds the bytes that are on their way into the store.
	InFlight = 8 << 20
	// reserveEvery is after how many bytes the reserve is looked at, besides every interval. Both marks are far from what it holds.
	reserveEvery = 4 << 20
	// Interval is how often the disk is looked at while nobody writes.
	Interval = time.Second
)

// FullError says why nothing is stored.
type FullError struct {
	Dir  string
	Left diskspace.Space
	// Reason is why the reserve could not be made on a disk that has room; nil: the disk has none.
	Reason error
}

func (e *FullError) Error() string {
	switch {
	case e.Reason != nil:
		return fmt.Sprintf("the disk of %s: Farrier cannot reserve the room that its store needs, so it stores nothing: %v", e.Dir, e.Reason)
	case e.Left.Files < LowFiles:
		return fmt.Sprintf("the disk of %s is full: it has room for %d more files; Farrier stores nothing until it is %d", e.Dir, e.Left.Files, LowFiles)
	}
	return fmt.Sprintf("the disk of %s is full: %d MiB are left; Farrier stores nothing until it is %d MiB", e.Dir, e.Left.Bytes>>20, OpenMark>>20)
}

func (e *FullError) Unwrap() error { return e.Reason }

// Options say what is guarded.
type Options struct {
	// Dir is the data directory, Store the reserve of the store in it.
	Dir   string
	Store *Reserve
	// Space asks the disk; nil: diskspace.Of.
	Space  func(path string) (diskspace.Space, error)
	Logger logr.Logger
	Clock  clock.WithTicker
}

// Guard knows whether there is room.
type Guard struct {
	o        Options
	inFlight *semaphore.Weighted

	mu       sync.Mutex
	full     *FullError // nil: there is room
	left     diskspace.Space
	admitted int64 // bytes since the reserve was last looked at
	told     bool  // that the disk cannot be asked
	near     bool  // it has been said that the disk will soon be full
}

// New makes a guard that takes the disk for full until Open.
func New(o Options) *Guard {
	if o.Space == nil {
		o.Space = diskspace.Of
	}
	return &Guard{o: o, inFlight: semaphore.NewWeighted(InFlight)}
}

// Err is a *FullError while nothing may be stored. It asks the disk.
func (g *Guard) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.look()
	return g.err()
}

func (g *Guard) err() error {
	if g.full == nil {
		return nil
	}
	return g.full
}

// Left is what was left of the disk when it was last asked.
func (g *Guard) Left() diskspace.Space {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.left
}

// look closes the guard when there is too little room. Only refresh opens it.
func (g *Guard) look() {
	left, err := g.o.Space(g.o.Dir)
	if err != nil {
		if !g.told { // a disk that cannot be asked is not known to be full
			g.told = true
			g.o.Logger.Info("the free room of the disk is not known: Farrier does not notice when it is full", "error", err)
		}
		g.left = diskspace.Space{Bytes: diskspace.Unlimited, Files: diskspace.Unlimited}
		return
	}
	g.left = left
	if near := left.Bytes < NearMark; near != g.near && (near || left.Bytes >= NearMark+LowMark) {
		if g.near = near; near {
			g.o.Logger.Info("the disk is nearly full", "file", g.o.Dir, "bytes", left.Bytes)
		}
	}
	if g.full == nil && (left.Bytes < LowMark || left.Files < LowFiles) {
		g.close(&FullError{Dir: g.o.Dir, Left: left})
	} else if g.full != nil && g.full.Reason == nil {
		g.full = &FullError{Dir: g.o.Dir, Left: left}
	}
}

func (g *Guard) close(why *FullError) {
	g.full = why
	g.o.Logger.Info("nothing new is stored, machines are answered from what is known", "error", why)
}

// Refresh completes the reserve and finds out whether there is room again.
func (g *Guard) Refresh() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.look()
	g.refresh()
	return g.err()
}

func (g *Guard) refresh() {
	if g.full != nil && (g.left.Bytes < OpenMark || g.left.Files < LowFiles) {
		return // what the reserve would take is better left to whoever needs it now
	}
	err := g.o.Store.Complete()
	if err == nil {
		g.admitted = 0
		if g.full != nil {
			g.full = nil
			g.o.Logger.Info("the disk has room again: Farrier stores what is new")
		}
		return
	}
	why := &FullError{Dir: g.o.Dir, Left: g.left, Reason: err}
	if g.full == nil {
		g.close(why)
	}
	g.full = why
}

// admit reports whether a write of so many bytes may go to the store now.
func (g *Guard) admit(bytes int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.look()
	if g.full == nil {
		if g.admitted += bytes; g.admitted > reserveEvery {
			g.refresh()
		}
	}
	return g.err()
}

// Run looks at the disk until ctx ends, and calls then when it has.
func (g *Guard) Run(ctx context.Context, then func(context.Context, error)) {
	tick := g.o.Clock.NewTicker(Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
			then(ctx, g.Refresh())
		}
	}
}
