package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
)

// Two hundred BMCs over real HTTP, one of which hangs: what an interval costs is counted by the
// rack, not timed.
func TestTwoHundred(t *testing.T) {
	const bmcs, hung, laps, patience = 200, 7, 4, 6 * time.Second
	rack, err := sim.Start(t.Context(), sim.Options{
		Servers: bmcs, Username: "admin", Password: marker, Seed: 1, BootURL: func() string { return "http://127.0.0.1:1/ipxe/" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rack.Stop(context.WithoutCancel(t.Context())) })
	f := run(t, fleet.Options{PollInterval: time.Second, FastPoll: 500 * time.Millisecond, RequestTimeout: patience})
	keys := f.meet(rack)
	for _, key := range keys {
		f.until(key, "first look", known)
	}
	rack.SetFault(hung, sim.Hang)
	hangs := time.Now()
	healthy := append(keys[:hung:hung], keys[hung+1:]...)
	requests, answers := make([]int, bmcs), make([]uint64, bmcs)
	for i, key := range keys {
		o, _ := f.Observe(key)
		requests[i], answers[i] = rack.Stats(i).Requests, o.Sequence
	}
	f.laps(healthy, laps)
	total, answered := 0, 0
	for i, key := range keys {
		o, _ := f.Observe(key)
		s := rack.Stats(i)
		if s.MaxRequests != 1 || s.MaxConnections != 1 || s.Logins != 1 || s.BasicLogins != 0 || s.Refused != 0 {
			t.Errorf("BMC %d: %+v", i, s)
		}
		if i == hung {
			// A request ends before the next begins, and ends by its time-out; one more may have been under way, or answered just before.
			if n, most := s.Requests-requests[i], 2+int(time.Since(hangs)/patience); n > most {
				t.Errorf("the BMC that hangs was asked %d times in %s", n, time.Since(hangs))
			}
			continue
		}
		if o.Err != nil {
			t.Errorf("BMC %d: %v", i, o.Err)
		}
		total += s.Requests - requests[i]
		answered += int(o.Sequence - answers[i])
	}
	// One that was sent and not answered yet may be in the one and not in the other.
	if most := float64(answered)*1.1 + bmcs; float64(total) > most {
		t.Errorf("%d requests for %d observations", total, answered)
	}
	f.until(keys[hung], "time-out", func(o fleet.Observation) bool { return bmc.KindOf(o.Err) == bmc.KindTimeout })

	// The one that hangs holds nobody up at the end either.
	began := time.Now()
	f.stop()
	if took := time.Since(began); took > unhurried/2 {
		t.Errorf("deleting the sessions took %s of %s", took, unhurried)
	}
	rack.SetFault(hung, nil)
	for i, info := range rack.BMCs() {
		if n := sessions(t, info); i != hung && n != 0 {
			t.Errorf("BMC %d: %d sessions left", i, n)
		}
	}
}
