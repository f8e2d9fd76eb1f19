package fleet_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// running is a fleet at work, with a way to wait for what it observes.
type running struct {
	*fleet.Fleet
	t       *testing.T
	mu      sync.Mutex
	changed chan struct{}
	stop    func()
}

func run(t *testing.T, o fleet.Options) *running {
	t.Helper()
	r := &running{Fleet: fleet.New(o), t: t, changed: make(chan struct{})}
	r.Subscribe(func(fleet.Key) {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(r.changed)
		r.changed = make(chan struct{})
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// until waits for an observation that satisfies ok.
func (r *running) until(key fleet.Key, what string, ok func(fleet.Observation) bool) fleet.Observation {
	r.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		o, _ := r.Observe(key)
		if ok(o) {
			return o
		}
		select {
		case <-changed:
		case <-deadline:
			r.t.Fatalf("%s: not within 20 s; last: %+v", what, o)
		}
	}
}

func power(state bmc.PowerState) func(fleet.Observation) bool {
	return func(o fleet.Observation) bool { return len(o.Systems) == 1 && o.Systems[0].PowerState == state }
}

func ended(id string) func(fleet.Observation) bool {
	return func(o fleet.Observation) bool {
		return len(o.Systems) == 1 && o.Systems[0].Command.ID == id && o.Systems[0].Command.State.Ended()
	}
}

func TestPowerOverRealHTTP(t *testing.T) {
	server := bmctest.New(t)
	f := run(t, fleet.Options{FastPoll: 10 * time.Millisecond})
	key := f.Ensure(fleet.Spec{Endpoint: server.Endpoint(), Credentials: server.Credentials()})
	f.until(key, "first look", func(o fleet.Observation) bool {
		return power(bmc.PowerOff)(o) && o.Systems[0].Inventory != nil && o.Manager.URI != ""
	})
	on := fleet.Command{ID: "1", System: bmctest.System, Kind: fleet.PowerOn, Boot: bmc.BootOverride{Target: bmc.BootPXE}}
	if err := f.Submit(key, on); err != nil {
		t.Fatal(err)
	}
	o := f.until(key, "power on", ended("1"))
	if got := o.Systems[0]; got.Command.State != fleet.Succeeded || got.PowerState != bmc.PowerOn {
		t.Errorf("command %+v, power %s", got.Command, got.PowerState)
	}
	off := fleet.Command{ID: "2", System: bmctest.System, Kind: fleet.PowerOff}
	if err := f.Submit(key, off); err != nil {
		t.Fatal(err)
	}
	o = f.until(key, "power off", ended("2"))
	if got := o.Systems[0]; got.Command.State != fleet.Succeeded || got.PowerState != bmc.PowerOff {
		t.Errorf("command %+v, power %s", got.Command, got.PowerState)
	}
	f.stop()
	if n := server.Sessions(); n != 0 {
		t.Errorf("%d sessions left", n)
	}
	if n := server.Count("POST /redfish/v1/SessionService/Sessions"); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
	if requests, connections := server.Peaks(); requests != 1 || connections != 1 {
		t.Errorf("%d requests and %d connections at a time, want 1 and 1", requests, connections)
	}
}
