package resolver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

var errAway = errors.New("away")

// world is what a resolver finds things out about.
type world struct {
	mu       sync.Mutex
	attempts []string
	fail     map[string]error
	takes    time.Duration
	now      atomic.Int32
	most     atomic.Int32
}

func (w *world) resolve(ctx context.Context, key string) (int, error) {
	if n := w.now.Add(1); n > w.most.Load() {
		w.most.Store(n)
	}
	defer w.now.Add(-1)
	select {
	case <-time.After(w.takes):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts = append(w.attempts, key)
	return len(w.attempts), w.fail[key]
}

func (w *world) asked() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.attempts, " ")
}

func (w *world) failing(key string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail[key] = err
}

type running struct {
	*Resolver[string, string, int]
	*world
	told []string
	stop func()
}

// start starts a resolver in a bubble; it must be stopped there.
func start(change func(*Config[string, string, int])) *running {
	w := &world{fail: map[string]error{}}
	config := Config[string, string, int]{
		Resolve: w.resolve, Parallel: 1, MinBackoff: time.Second, MaxBackoff: 10 * time.Second, Clock: clock.RealClock{},
		Refresh: func(string) time.Duration { return time.Minute },
		Changed: func(before, after Result[int]) bool { return (before.Err == nil) != (after.Err == nil) },
	}
	if change != nil {
		change(&config)
	}
	r := &running{Resolver: New(config), world: w}
	r.Subscribe(func(key string) { // by several workers at once
		w.mu.Lock()
		defer w.mu.Unlock()
		r.told = append(r.told, key)
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Run(ctx)
	}()
	r.stop = func() {
		cancel()
		<-done
	}
	return r
}

func TestAnswersAreKeptAndRefreshed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(nil)
		defer r.stop()
		if _, known := r.Lookup("a", "a"); known {
			t.Error("known before it was asked for")
		}
		synctest.Wait()
		at := time.Now()
		got, known := r.Lookup("a", "a")
		if diff := cmp.Diff(Result[int]{Value: 1, At: at}, got); diff != "" || !known {
			t.Errorf("known %v (-want +got):\n%s", known, diff)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, _ := r.Lookup("a", "a"); got.Value != 2 || !got.At.Equal(at.Add(time.Minute)) {
			t.Errorf("after a refresh: %+v", got)
		}
		if len(r.told) != 1 {
			t.Errorf("told %v, want once: nothing has changed", r.told)
		}
	})
}

func TestFailuresAreTriedAgainWithGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(nil)
		defer r.stop()
		r.Lookup("a", "a")
		synctest.Wait()
		good, _ := r.Lookup("a", "a")
		r.failing("a", errAway)
		time.Sleep(time.Minute)
		synctest.Wait() // the refresh is due at the same moment
		for _, pause := range []time.Duration{1, 2, 4, 8, 10, 10, 10} {
			before := r.asked()
			time.Sleep(pause*time.Second - 1)
			synctest.Wait()
			if r.asked() != before {
				t.Errorf("asked again within a pause of %d s", pause)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if r.asked() != before+" a" {
				t.Errorf("not asked again after %d s", pause)
			}
		}
		if got, _ := r.Lookup("a", "a"); got.Value != good.Value || !got.At.Equal(good.At) || !errors.Is(got.Err, errAway) {
			t.Errorf("the last good answer: %+v, want %+v with an error", got, good)
		}
		r.failing("a", nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got, _ := r.Lookup("a", "a"); got.Err != nil {
			t.Errorf("mended: %v", got.Err)
		}
		// The first answer, the failure, and that it was mended.
		if len(r.told) != 3 {
			t.Errorf("told %d times, want 3", len(r.told))
		}
		// The next failure begins anew.
		r.failing("a", errAway)
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if n := strings.Count(r.asked(), "a"); n != 12 {
			t.Errorf("%d attempts, want 12", n)
		}
	})
}

func TestWhatOnlyTimeMendsWaitsTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(func(c *Config[string, string, int]) {
			c.Patient = func(err error) bool { return errors.Is(err, errAway) }
		})
		defer r.stop()
		r.failing("a", errAway)
		r.Lookup("a", "a")
		time.Sleep(10*time.Second - 1)
		synctest.Wait()
		if got := r.asked(); got != "a" {
			t.Errorf("asked %q", got)
		}
	})
}

func TestAttemptsAreBoundedAndOnePerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(func(c *Config[string, string, int]) { c.Parallel = 3 })
		defer r.stop()
		r.takes = time.Second
		for i := range 30 {
			r.Lookup(fmt.Sprint(i%10), fmt.Sprint(i%10))
		}
		if n := r.Busy(); n != 10 {
			t.Errorf("%d are busy, want 10", n)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if n := len(strings.Fields(r.asked())); n != 10 || r.most.Load() != 3 || r.Busy() != 0 {
			t.Errorf("%d attempts, %d at once, %d busy; want 10, 3, none", n, r.most.Load(), r.Busy())
		}
	})
}

func TestTheOrderOfWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(func(c *Config[string, string, int]) { c.Before = func(a, b string) bool { return a < b } })
		defer r.stop()
		r.takes = time.Second
		for _, key := range []string{"d", "c", "a", "b"} {
			r.Lookup(key, key)
			synctest.Wait() // the first one is begun
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if got := r.asked(); got != "d a b c" {
			t.Errorf("asked for %q, want d a b c", got)
		}
	})
}

func TestWhatIsForgottenIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(nil)
		defer r.stop()
		r.takes = time.Second
		r.Lookup("a", "a")
		synctest.Wait()
		r.Forget("a") // while it is resolved
		r.Forget("a")
		time.Sleep(time.Hour)
		if got := r.asked(); got != "a" || len(r.told) > 0 || r.Len() > 0 {
			t.Errorf("asked %q, told %v, %d known", got, r.told, r.Len())
		}
		r.Lookup("a", "a")
		time.Sleep(time.Second)
		synctest.Wait()
		r.Forget("a")
		time.Sleep(30 * time.Second)
		r.Lookup("a", "a") // half a minute before the first one was due
		time.Sleep(time.Second)
		synctest.Wait()
		before := r.asked()
		time.Sleep(58 * time.Second)
		synctest.Wait()
		if got := r.asked(); got != before {
			t.Errorf("asked %q and then %q: what was forgotten was still due", before, got)
		}
	})
}

func TestTheEndIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(nil)
		r.takes = time.Second
		r.Lookup("a", "a")
		synctest.Wait()
		r.stop()
		if _, known := r.Lookup("a", "a"); known || len(r.told) > 0 {
			t.Error("the end of the resolver was taken for an answer")
		}
	})
}

func TestWhatWasLookedUpBeforeRunIsResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{fail: map[string]error{}}
		r := New(Config[string, string, int]{Resolve: w.resolve, Parallel: 1, MinBackoff: 1, MaxBackoff: 1, Clock: clock.RealClock{}})
		r.Lookup("a", "a")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		if got, known := r.Lookup("a", "a"); !known || got.Value != 1 {
			t.Errorf("%+v, %v", got, known)
		}
		time.Sleep(time.Hour) // nothing refreshes it
		if got := w.asked(); got != "a" {
			t.Errorf("asked %q", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
