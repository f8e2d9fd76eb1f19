package process

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/outbox"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

const (
	// mostTold bounds one request, of messages of some hundred bytes.
	mostTold = 512
	// gathering is for how long what machines are given gathers behind a request, unless it fills the next one: a request costs both ends more
	// than a message. What comes after a pause is told at once.
	gathering = 50 * time.Millisecond
	// tellTimeout bounds one request.
	tellTimeout = 30 * time.Second
	// firstPause and longestPause bound the wait after a request that has failed.
	firstPause, longestPause = 200 * time.Millisecond, 10 * time.Second
)

// teller tells a manager what waits. A request that has failed is repeated with its number, so that nothing counts twice.
type teller struct {
	// manager returns a client of the manager that is followed; nil: none is.
	manager func() streampb.BootStreamClient
	outbox  *outbox.Outbox
	status  *status
	clock   clock.WithTicker
	logger  logr.Logger
}

// Run tells until ctx ends.
func (t *teller) Run(ctx context.Context) error {
	pause, failing := firstPause, false
	for ctx.Err() == nil {
		told, err := t.next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // what was under way is repeated by flush
		case err != nil:
			if !failing {
				t.logger.Info("manager not told what machines were given, trying again", "error", err)
			}
			failing = true
			t.wait(ctx, t.clock.After(pause/2+rand.N(pause)))
			pause = min(2*pause, longestPause)
			continue
		case told && failing:
			t.logger.Info("manager told again what machines were given")
		}
		pause, failing = firstPause, false
		switch {
		case !told:
			t.wait(ctx, nil)
		case t.outbox.Waiting() < mostTold:
			t.gather(ctx)
		}
	}
	return nil
}

// wait waits until something waits, or a manager has come, or a pause is over.
func (t *teller) wait(ctx context.Context, over <-chan time.Time) {
	if over != nil {
		select {
		case <-over:
		case <-t.status.connected: // sooner than the pause
		case <-ctx.Done():
		}
		return
	}
	select {
	case <-t.outbox.News():
	case <-t.status.connected:
	case <-ctx.Done():
	}
}

// gather waits until something has come together, or ctx ends.
func (t *teller) gather(ctx context.Context) {
	select {
	case <-t.clock.After(gathering):
	case <-ctx.Done():
	}
}

// next tells one request, and reports whether there was one and somebody to tell.
func (t *teller) next(ctx context.Context) (told bool, err error) {
	manager := t.manager()
	if manager == nil {
		return false, nil // what waits goes on being put together
	}
	request := t.outbox.Next(mostTold)
	if request == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	if _, err := manager.Tell(ctx, request); err != nil {
		return false, err
	}
	t.outbox.Done(request.GetNumber())
	return true, nil
}

// flush tells what still waits, once each, until ctx ends.
func (t *teller) flush(ctx context.Context) error {
	for {
		if told, err := t.next(ctx); err != nil || !told {
			return err
		}
	}
}
