package fleet

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// fakeBrake has orders of one account wait.
type fakeBrake struct {
	mu    sync.Mutex
	wait  map[string]time.Duration
	spent map[string]int
}

func (b *fakeBrake) Wait(account string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wait[account]
}

func (b *fakeBrake) Spent(account string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent[account] += n
}

// TestBrake: orders of an account that comes no further wait, and say so; others do not, and what has begun goes on.
func TestBrake(t *testing.T) {
	b := &fakeBrake{wait: map[string]time.Duration{"slow": 20 * time.Second}, spent: map[string]int{}}
	s := met(t, func(o *Options) { o.Brake = b })
	s.submit(Command{ID: "braked", Kind: PowerOn, Account: "slow"})
	s.do(Job{ID: "other", Account: "quick", Run: func(ctx context.Context, _ Services) error {
		return nil
	}})
	s.runFor(time.Minute)
	if got := s.status("braked"); got.State != Queued || !errors.Is(got.Err, ErrBraked) {
		t.Errorf("the braked one: %+v", got)
	}
	if got := s.status("other"); got.State != Succeeded {
		t.Errorf("the other: %+v", got)
	}
	if err := s.fence("update", time.Second); err != nil {
		t.Errorf("what waits keeps others off: %v", err)
	}
	b.wait["slow"] = 0
	s.runFor(time.Minute)
	if got := s.status("braked"); got.State != Succeeded || got.Err != nil {
		t.Errorf("when it may: %+v", got)
	}
	if b.spent["slow"] == 0 || b.spent["quick"] != 1 {
		t.Errorf("spent %v", b.spent)
	}
}

// TestABrakedOrderEnds: it does not wait for ever.
func TestABrakedOrderEnds(t *testing.T) {
	b := &fakeBrake{wait: map[string]time.Duration{"slow": 20 * time.Second}, spent: map[string]int{}}
	s := met(t, func(o *Options) { o.Brake = b })
	s.submit(Command{ID: "1", Kind: PowerOn, Budget: time.Minute, Account: "slow"})
	s.runFor(time.Hour)
	if got := s.status("1"); got.State != Failed || !errors.Is(got.Err, ErrNotBegun) || !errors.Is(got.Err, ErrBraked) {
		t.Errorf("%+v", got)
	}
}

// TestRequestsAreCounted where they are made.
func TestRequestsAreCounted(t *testing.T) {
	ctx, n := bmc.Counting(t.Context())
	c := bmc.NewClient(bmc.Endpoint{Scheme: "http", Host: "127.0.0.1", Port: 1}, bmc.Credentials{}, bmc.Options{})
	_, _ = c.SystemURIs(ctx)
	if n() == 0 {
		t.Error("no request was counted")
	}
}
