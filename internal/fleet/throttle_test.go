package fleet

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// fakeThrottle delays the commands of one account.
type fakeThrottle struct {
	mu    sync.Mutex
	wait  map[string]time.Duration
	spent map[string]int
}

func (b *fakeThrottle) Wait(account string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wait[account]
}

func (b *fakeThrottle) Spent(account string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent[account] += n
}

// TestThrottle: commands of an account that makes no progress wait, and their status says so; others do not wait, and a command that has begun goes on.
func TestThrottle(t *testing.T) {
	b := &fakeThrottle{wait: map[string]time.Duration{"slow": 20 * time.Second}, spent: map[string]int{}}
	s := met(t, func(o *Options) { o.Throttle = b })
	s.submit(Command{ID: "throttled", Kind: PowerOn, Account: "slow"})
	s.do(Job{ID: "other", Account: "quick", Run: func(ctx context.Context, _ Services) error {
		return nil
	}})
	s.runFor(time.Minute)
	if got := s.status("throttled"); got.State != Queued || !errors.Is(got.Err, ErrThrottled) {
		t.Errorf("the throttled one: %+v", got)
	}
	if got := s.status("other"); got.State != Succeeded {
		t.Errorf("the other: %+v", got)
	}
	if err := s.lock("update", time.Second); err != nil {
		t.Errorf("what waits keeps others off: %v", err)
	}
	b.wait["slow"] = 0
	s.runFor(time.Minute)
	if got := s.status("throttled"); got.State != Succeeded || got.Err != nil {
		t.Errorf("when it may: %+v", got)
	}
	if b.spent["slow"] == 0 || b.spent["quick"] != 1 {
		t.Errorf("spent %v", b.spent)
	}
}

// TestAThrottledCommandEnds: it does not wait for ever.
func TestAThrottledCommandEnds(t *testing.T) {
	b := &fakeThrottle{wait: map[string]time.Duration{"slow": 20 * time.Second}, spent: map[string]int{}}
	s := met(t, func(o *Options) { o.Throttle = b })
	s.submit(Command{ID: "1", Kind: PowerOn, Budget: time.Minute, Account: "slow"})
	s.runFor(time.Hour)
	if got := s.status("1"); got.State != Failed || !errors.Is(got.Err, ErrNotBegun) || !errors.Is(got.Err, ErrThrottled) {
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
