package fleet

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
)

const (
	neighbours = 200
	latency    = 50 * time.Millisecond
)

// diary is when each BMC was asked.
type diary struct {
	mu      sync.Mutex
	asked   map[int][]time.Duration
	flying  map[int]int
	at      time.Time
	hangs   func(bmc int) bool
	refuses func(bmc int) bool
	most    int
	// latency is how long an answer takes; zero: as the constant says.
	latency time.Duration
}

func (d *diary) answerAfter() time.Duration {
	if d.latency == 0 {
		return latency
	}
	return d.latency
}

// slow is a BMC of a diary: it takes its time, hangs or refuses the password.
type slow struct {
	Client
	*diary
	port int
}

func (s slow) ask(ctx context.Context) error {
	s.mu.Lock()
	s.asked[s.port] = append(s.asked[s.port], time.Since(s.at))
	s.flying[s.port]++
	s.most = max(s.most, s.flying[s.port])
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.flying[s.port]--
		s.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	answer := time.After(s.answerAfter())
	if s.hangs(s.port) {
		answer = nil
	}
	select {
	case <-answer:
	case <-ctx.Done():
		return errTimeout
	}
	if s.refuses(s.port) {
		return errAuth
	}
	return nil
}

func (s slow) SystemURIs(ctx context.Context) ([]string, error) {
	return []string{systemURI}, s.ask(ctx)
}
func (s slow) Close(context.Context) error { return nil }

func (s slow) System(ctx context.Context, uri string) (bmc.System, error) {
	return bmc.System{URI: uri, PowerState: bmc.PowerOff, Boot: bmc.BootState{Target: "None"}}, s.ask(ctx)
}

func (s slow) Manager(ctx context.Context) (bmc.Manager, error) {
	return bmc.Manager{URI: "/m"}, s.ask(ctx)
}

func (s slow) Inventory(ctx context.Context, _ string) (bmc.Inventory, error) {
	return bmc.Inventory{}, s.ask(ctx)
}

// live lets a fleet look after 200 BMCs for some hours of a bubble's time.
func live(t *testing.T, hours time.Duration, hangs, refuses func(bmc int) bool) (d *diary, f *Fleet, keys []Key) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d = &diary{asked: map[int][]time.Duration{}, flying: map[int]int{}, at: time.Now(), hangs: hangs, refuses: refuses}
		f = New(Options{Seed: 11, NewClient: func(s Spec) Client { return slow{diary: d, port: s.Endpoint.Port} }})
		for port := range neighbours {
			keys = append(keys, f.Ensure(at(port+1)))
		}
		end := begin(t, f)
		time.Sleep(hours * time.Hour)
		end()
	})
	return d, f, keys
}

func none(int) bool { return false }

func first(n int) func(int) bool { return func(port int) bool { return port <= n } }

// The schedule of every BMC is, to the nanosecond, what it would be if all the others were well.
func TestNeighboursOfHungBMCsKeepTheirSchedule(t *testing.T) {
	const hung = 20
	well, _, _ := live(t, 4, none, none)
	ill, f, keys := live(t, 4, first(hung), none)
	for port := hung + 1; port <= neighbours; port++ {
		if diff := cmp.Diff(well.asked[port], ill.asked[port]); diff != "" {
			t.Fatalf("BMC %d (-all well +%d hang):\n%s", port, hung, diff)
		}
	}
	for port := 1; port <= hung; port++ {
		o, _ := f.Observe(keys[port-1])
		if bmc.KindOf(o.Err) != bmc.KindTimeout {
			t.Fatalf("BMC %d: %v", port, o.Err)
		}
		if after := o.ErrSince.Sub(ill.at) - ill.asked[port][0]; after > 2*f.options.RequestTimeout {
			t.Errorf("BMC %d: known to hang after %s", port, after)
		}
		if n := len(ill.asked[port]); n > 4*6+8 {
			t.Errorf("BMC %d: asked %d times in four hours", port, n)
		}
	}
}

// What an interval costs: every BMC is seen in each, by no more than 1.1 requests, one at a time.
func TestCostOfAnInterval(t *testing.T) {
	const hours = 12
	d, f, _ := live(t, hours, none, none)
	interval := f.options.PollInterval
	if d.most != 1 {
		t.Errorf("%d requests at a time to one BMC", d.most)
	}
	for port := 1; port <= neighbours; port++ {
		asked := d.asked[port]
		intervals := float64(hours*time.Hour) / float64(interval)
		if per := float64(len(asked)) / intervals; per > 1.1 {
			t.Errorf("BMC %d: %.3f requests an interval", port, per)
		}
		for i := 1; i < len(asked); i++ {
			if gap := asked[i] - asked[i-1]; gap > interval+2*latency {
				t.Fatalf("BMC %d: not asked for %s", port, gap)
			}
		}
	}
}

// Wrong passwords: one request each in ten minutes, whoever else has one.
func TestWrongPasswordsAreQuiet(t *testing.T) {
	d, f, keys := live(t, 1, none, first(50))
	for port := 1; port <= 50; port++ {
		if n := len(d.asked[port]); n > 6 {
			t.Errorf("BMC %d: asked %d times in an hour", port, n)
		}
		if o, _ := f.Observe(keys[port-1]); o.Circuit != CircuitRefused {
			t.Errorf("BMC %d: %s", port, o.Circuit)
		}
	}
	if slices.Max(d.asked[51]) < 50*time.Minute {
		t.Errorf("a neighbour was asked last at %s", slices.Max(d.asked[51]))
	}
}
