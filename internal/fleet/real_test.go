package fleet_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/test/await"
)

// unhurried is how long a fleet may take to delete its sessions, unless a test is about that: the product's limit is for a manager that is told to
// end, and on a busy machine too short for a rack. A BMC that hangs takes a twentieth of it.
const unhurried = time.Minute

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
	if o.ShutdownTimeout == 0 {
		o.ShutdownTimeout = unhurried
	}
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
	patient := await.Patience(r.t)
	deadline := time.After(patient)
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
			r.t.Fatalf("%s: not within %s; last: %+v", what, patient, o)
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

// A command does not wait for the dozens of requests of an inventory: it goes between two
// of them, and the inventory begins anew after it.
func TestCommandInterruptsAnInventory(t *testing.T) {
	server := bmctest.New(t)
	const processors = "GET " + bmctest.System + "/Processors"
	f := run(t, fleet.Options{FastPoll: 10 * time.Millisecond})
	spec := fleet.Spec{Endpoint: server.Endpoint(), Credentials: server.Credentials()}
	key := fleet.Key(spec.Endpoint.Key())
	server.Handle(processors, func(w http.ResponseWriter, _ *http.Request) {
		server.Handle(processors, nil)
		if err := f.Submit(key, fleet.Command{ID: "1", System: bmctest.System, Kind: fleet.SetIndicator, Indicator: bmc.IndicatorLit}); err != nil {
			t.Error(err)
		}
		bmctest.JSON(w, http.StatusOK, bmctest.Collection("", bmctest.System+"/Processors/1"))
	})
	f.Ensure(spec)
	f.until(key, "inventory", func(o fleet.Observation) bool { return len(o.Systems) == 1 && o.Systems[0].Inventory != nil })
	var got []string
	for _, r := range server.Requests() {
		got = append(got, r.String())
	}
	at := slices.Index(got, processors)
	want := []string{"GET " + bmctest.System, "PATCH " + bmctest.System, "GET " + bmctest.System, processors}
	if diff := cmp.Diff(want, got[at+1:at+1+len(want)]); diff != "" {
		t.Errorf("after the interruption (-want +got):\n%s", diff)
	}
	if status, _ := f.Command(key, "1"); status.State != fleet.Succeeded {
		t.Errorf("command %+v", status)
	}
}
