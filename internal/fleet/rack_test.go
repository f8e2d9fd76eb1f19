package fleet_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/await"
)

const (
	servers   = 20
	simSystem = "/redfish/v1/Systems/1"
	marker    = "marker-password-3"
)

// quick is a fleet that does in milliseconds what takes minutes.
var quick = fleet.Options{
	PollInterval: 100 * time.Millisecond, FastPoll: 20 * time.Millisecond, MaxBackoff: 200 * time.Millisecond, RequestTimeout: 30 * time.Second,
}

func rack(t *testing.T) *sim.Rack {
	t.Helper()
	r, err := sim.Start(t.Context(), sim.Options{
		Servers: servers, Username: "admin", Password: marker, Seed: 1,
		Timing:  sim.Timing{POST: 50 * time.Millisecond, Shutdown: 50 * time.Millisecond},
		BootURL: func() string { return "http://127.0.0.1:1/ipxe/" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return r
}

func endpoint(info sim.BMCInfo) bmc.Endpoint {
	return bmc.Endpoint{Scheme: "http", Host: info.IP.String(), Port: info.Port}
}

func credentials(password string) bmc.Credentials {
	return bmc.Credentials{Username: "admin", Password: bmc.Secret(password)}
}

// meet puts the whole rack into the fleet.
func (r *running) meet(rack *sim.Rack) []fleet.Key {
	var keys []fleet.Key
	for _, info := range rack.BMCs() {
		keys = append(keys, r.Ensure(fleet.Spec{Endpoint: endpoint(info), Credentials: credentials(marker)}))
	}
	return keys
}

func known(o fleet.Observation) bool {
	return o.Err == nil && o.Manager.URI != "" && len(o.Systems) == 1 && o.Systems[0].Inventory != nil
}

func TestRack(t *testing.T) {
	rack := rack(t)
	before := runtime.NumGoroutine()
	f := run(t, quick)
	keys := f.meet(rack)
	for i, key := range keys {
		o := f.until(key, "first look", known)
		if got, want := o.Systems[0].UUID, rack.BMCs()[i].UUID; got != want {
			t.Errorf("BMC %d: UUID %s, want %s", i, got, want)
		}
	}
	for step, kind := range []fleet.CommandKind{fleet.PowerOn, fleet.PowerOff} {
		id := fmt.Sprint("step-", step)
		for _, key := range keys {
			c := fleet.Command{ID: id, System: simSystem, Kind: kind, Boot: bmc.BootOverride{Target: bmc.BootPXE}, Force: true, Budget: 15 * time.Second}
			if err := f.Submit(key, c); err != nil {
				t.Fatal(err)
			}
		}
		want := map[fleet.CommandKind]bmc.PowerState{fleet.PowerOn: bmc.PowerOn, fleet.PowerOff: bmc.PowerOff}[kind]
		for i, key := range keys {
			s := f.until(key, id, ended(id)).Systems[0]
			if s.Command.State != fleet.Succeeded || s.PowerState != want {
				t.Errorf("BMC %d: %s: %+v, power %s", i, kind, s.Command, s.PowerState)
			}
		}
	}
	// The stop gives up requests that are under way. A BMC that reads one of them after the logout refuses it, so what was counted until now counts.
	counted := make([]sim.Stats, len(keys))
	for i := range keys {
		counted[i] = rack.Stats(i)
	}
	f.stop()
	for i, s := range counted {
		if s.Logins != 1 || s.BasicLogins != 0 || s.Refused != 0 {
			t.Errorf("BMC %d: %d logins, %d with Basic, %d refused, want 1, 0, 0", i, s.Logins, s.BasicLogins, s.Refused)
		}
		if s.MaxRequests != 1 || s.MaxConnections != 1 {
			t.Errorf("BMC %d: %d requests and %d connections at a time, want 1 and 1", i, s.MaxRequests, s.MaxConnections)
		}
		if n := sessions(t, rack.BMCs()[i]); n != 0 {
			t.Errorf("BMC %d: %d sessions left", i, n)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	eventually(t, "the goroutines of the fleet end", func() bool { return runtime.NumGoroutine() <= before+servers })
}

// sessions counts the sessions at a BMC, without making one.
func sessions(t *testing.T, info sim.BMCInfo) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, endpoint(info).BaseURL()+"/redfish/v1/SessionService/Sessions", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("admin", marker)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var body struct{ Members []any }
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return len(body.Members)
}

// eventually waits for what happens in goroutines that nobody can be told by.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	await.True(t, what, ok)
}

// laps waits until each of the BMCs has been seen n more times.
func (r *running) laps(keys []fleet.Key, n uint64) {
	r.t.Helper()
	first := map[fleet.Key]uint64{}
	for _, key := range keys {
		o, _ := r.Observe(key)
		first[key] = o.Sequence
	}
	for _, key := range keys {
		eventually(r.t, "polls go on", func() bool {
			o, _ := r.Observe(key)
			return o.Sequence >= first[key]+n
		})
	}
}

// A wrong password: one request, then quiet, whatever the neighbours do.
func TestWrongPasswordInARack(t *testing.T) {
	rack := rack(t)
	rack.SetPassword(3, "changed-by-hand")
	f := run(t, quick)
	keys := f.meet(rack)
	o := f.until(keys[3], "refusal", func(o fleet.Observation) bool { return o.Err != nil })
	if bmc.KindOf(o.Err) != bmc.KindAuthentication || strings.Contains(o.Err.Error(), "marker") {
		t.Errorf("error %v", o.Err)
	}
	f.laps(append(keys[:3:3], keys[4:]...), 10)
	// A login, the service root, and Basic authentication once: sessions may be what is refused.
	if s := rack.Stats(3); s.Requests != 3 || s.Refused != 2 {
		t.Errorf("%d requests, %d refused, want 3 and 2", s.Requests, s.Refused)
	}
	f.Ensure(fleet.Spec{Endpoint: endpoint(rack.BMCs()[3]), Credentials: credentials("changed-by-hand")})
	f.until(keys[3], "the right password", known)

	// A password that changes while a session lives ends it; one login more is
	// tried, and that is all.
	refused := rack.Stats(3).Refused
	rack.SetPassword(3, "changed-again")
	f.until(keys[3], "refusal", func(o fleet.Observation) bool { return bmc.KindOf(o.Err) == bmc.KindAuthentication })
	requests := rack.Stats(3).Requests
	f.laps(keys[:3], 10)
	s := rack.Stats(3)
	if s.Requests != requests {
		t.Errorf("%d more requests", s.Requests-requests)
	}
	if s.Refused-refused > 2 {
		t.Errorf("%d refusals, want the session's and the login's", s.Refused-refused)
	}
}

// A BMC that accepts and never answers delays itself only.
func TestHungBMCHoldsNobodyUp(t *testing.T) {
	rack := rack(t)
	o := quick
	o.RequestTimeout = 4 * time.Second
	f := run(t, o)
	keys := f.meet(rack)
	for _, key := range keys {
		f.until(key, "first look", known)
	}
	rack.SetFault(5, sim.Hang)
	neighbours := append(keys[:5:5], keys[6:]...)
	f.laps(neighbours, 10)
	f.until(keys[5], "time-out", func(o fleet.Observation) bool { return bmc.KindOf(o.Err) == bmc.KindTimeout })
	for i, key := range neighbours {
		if o, _ := f.Observe(key); o.Err != nil {
			t.Errorf("neighbour %d: %v", i, o.Err)
		}
	}
	rack.SetFault(5, nil)
	f.until(keys[5], "recovery", known)
	if s := rack.Stats(5); s.Logins != 1 {
		t.Errorf("%d logins: a time-out is no reason to log in", s.Logins)
	}
}

func TestBMCThatDropsConnections(t *testing.T) {
	rack := rack(t)
	f := run(t, quick)
	keys := f.meet(rack)
	f.until(keys[0], "first look", known)
	rack.SetFault(0, sim.Drop)
	f.until(keys[0], "failure", func(o fleet.Observation) bool { return bmc.KindOf(o.Err) == bmc.KindConnection })
	rack.SetFault(0, nil)
	f.until(keys[0], "recovery", known)
}

func TestRemoveAndMeetAgain(t *testing.T) {
	rack := rack(t)
	f := run(t, quick)
	keys := f.meet(rack)
	f.until(keys[0], "first look", known)
	for range 5 {
		f.Remove(keys[0])
		if _, ok := f.Observe(keys[0]); ok {
			t.Error("a removed BMC is observed")
		}
		f.Ensure(fleet.Spec{Endpoint: endpoint(rack.BMCs()[0]), Credentials: credentials(marker)})
		f.until(keys[0], "first look", known)
	}
	f.Remove(keys[0])
	eventually(t, "the session is deleted", func() bool { return sessions(t, rack.BMCs()[0]) == 0 })
	if s := rack.Stats(0); s.Logins > 6 {
		t.Errorf("%d logins", s.Logins)
	}
}

// TestRemoveEndsARequest: a BMC that is removed while it does not answer is left at once, and whoever has it next need not wait.
func TestRemoveEndsARequest(t *testing.T) {
	rack := rack(t)
	patient := quick
	patient.RequestTimeout = time.Hour
	f := run(t, patient)
	spec := fleet.Spec{Endpoint: endpoint(rack.BMCs()[0]), Credentials: credentials(marker)}
	key := f.Ensure(spec)
	f.until(key, "first look", known)
	rack.SetFault(0, sim.Hang)
	asked := rack.Stats(0).Requests
	eventually(t, "the BMC is asked", func() bool { return rack.Stats(0).Requests > asked })
	f.Remove(key)
	rack.SetFault(0, nil)
	f.Ensure(spec)
	f.until(key, "first look", known)
}
