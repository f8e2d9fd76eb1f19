package fleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
)

func TestFirstContact(t *testing.T) {
	s := newStand(t, nil)
	if o := s.observation(); o.Sequence != 0 || !o.Time.IsZero() || len(o.Systems) != 0 {
		t.Errorf("before the first look: %+v", o)
	}
	s.runFor(time.Second)
	if diff := cmp.Diff([]string{"list", "system", "manager", "inventory"}, s.bmc.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	o := s.observation()
	if o.Sequence == 0 || o.Time.IsZero() || o.Err != nil || o.Manager.FirmwareVersion != "1" || len(o.Systems) != 1 {
		t.Fatalf("observation %+v", o)
	}
	if got := o.Systems[0]; got.URI != systemURI || got.PowerState != bmc.PowerOff || got.Inventory == nil || got.Seen.IsZero() || got.Seq == 0 {
		t.Errorf("system %+v", got)
	}
	if s.told != 3 { // systems, manager, inventory
		t.Errorf("subscribers were told %d times, want 3", s.told)
	}
}

// An idle BMC costs one GET an interval, is seen in every interval, and wakes
// nobody.
func TestIdleCost(t *testing.T) {
	s := met(t, nil)
	const intervals = 24 * 30
	s.runFor(intervals * s.fleet.options.PollInterval)
	last, lists, inventories := start, 0, 0
	for _, e := range s.bmc.diary {
		switch e.call {
		case "system":
			if gap := e.at.Sub(last); gap > s.fleet.options.PollInterval+time.Second {
				t.Fatalf("not seen for %s", gap)
			}
			last = e.at
		case "list":
			lists++
		case "inventory":
			inventories++
		}
	}
	if perInterval := float64(len(s.bmc.diary)) / intervals; perInterval > 1.1 {
		t.Errorf("%.3f calls an interval, want at most 1.1", perInterval)
	}
	if lists < 12 || lists > 15 || inventories != 1 {
		t.Errorf("in 24 hours %d lists and %d inventories, want one in two hours, and one", lists, inventories)
	}
	if s.told != 0 {
		t.Errorf("subscribers were told %d times of nothing", s.told)
	}
	if o := s.observation(); s.clock.Now().Sub(o.Time) > s.fleet.options.PollInterval {
		t.Errorf("observation of %s at %s", o.Time, s.clock.Now())
	}
}

// A BMC without systems is asked for them at each poll: one that was asked nothing has not answered.
func TestABMCWithoutSystemsIsAsked(t *testing.T) {
	s := newStand(t, nil)
	s.bmc.systems = nil
	s.runFor(time.Hour)
	if o := s.observation(); o.Err != nil || o.Sequence == 0 {
		t.Fatalf("observation %+v", o)
	}
	s.bmc.diary = nil
	s.bmc.fail = failOn("list", &bmc.Error{Kind: bmc.KindTimeout, Op: "GET"})
	s.runFor(s.fleet.options.PollInterval + time.Second)
	if o := s.observation(); bmc.KindOf(o.Err) != bmc.KindTimeout {
		t.Errorf("it no longer answers, and that is not seen: %v after %v", o.Err, s.bmc.calls())
	}
	s.bmc.fail = nil
	s.runFor(time.Hour)
	s.bmc.diary = nil
	const intervals = 30
	s.runFor(intervals * s.fleet.options.PollInterval)
	if n := len(s.bmc.calls()); n < intervals || n > intervals*6/5 {
		t.Errorf("%d calls in %d intervals", n, intervals)
	}
}

// BMCs that were met together do not stay together.
func TestPollsAreSpread(t *testing.T) {
	first := map[time.Duration]int{}
	for _, seed := range []int64{1, 2, 3, 4, 5, 6, 7, 8} {
		s := met(t, func(o *Options) { o.Seed = seed })
		first[s.step().Round(time.Second)]++
	}
	if len(first) < 6 {
		t.Errorf("first rests: %v", first)
	}
}

func TestChangesAreTold(t *testing.T) {
	for name, change := range map[string]func(*fakeBMC){
		"power":     func(b *fakeBMC) { b.systems[0].PowerState = bmc.PowerOn },
		"indicator": func(b *fakeBMC) { b.systems[0].IndicatorLED = "Lit" },
		"boot":      func(b *fakeBMC) { b.systems[0].Boot.Target = "Pxe" },
		"failure":   func(b *fakeBMC) { b.fail = failing(errTimeout) },
	} {
		s := met(t, nil)
		change(s.bmc)
		s.runFor(s.fleet.options.PollInterval)
		if s.told != 1 {
			t.Errorf("%s: told %d times, want once", name, s.told)
		}
	}
	s := met(t, nil)
	s.bmc.systems[0].ETag = "other"
	s.runFor(s.fleet.options.PollInterval)
	if s.told != 0 {
		t.Error("a new ETag alone was told")
	}
}

// Ten thousand inventories are not compared by anybody for fun: they are read
// again when the machine is not what it was.
func TestInventoryFollowsTheSystem(t *testing.T) {
	s := met(t, nil)
	s.bmc.systems[0].BIOSVersion = "2"
	s.bmc.parts.MemoryBytes = 5
	s.runFor(s.fleet.options.PollInterval)
	if diff := cmp.Diff([]string{"system", "inventory"}, s.bmc.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if got := s.observation().Systems[0].Inventory.MemoryBytes; got != 5 {
		t.Errorf("inventory %d", got)
	}
}

func TestRefresh(t *testing.T) {
	s := met(t, nil)
	s.fleet.Refresh(s.key)
	s.step()
	if diff := cmp.Diff([]string{"list", "system", "manager", "inventory"}, s.bmc.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if s.told != 0 {
		t.Errorf("told %d times although nothing changed", s.told)
	}
}

func TestBackoff(t *testing.T) {
	s := met(t, nil)
	s.bmc.fail = failing(errTimeout)
	s.runFor(s.fleet.options.PollInterval)
	o := s.observation()
	if o.Err == nil || o.ErrSince.IsZero() || o.Systems[0].Seen.IsZero() {
		t.Fatalf("observation %+v", o)
	}
	s.runFor(6 * time.Hour)
	var rests []time.Duration
	for i := 1; i < len(s.bmc.diary); i++ {
		rests = append(rests, s.bmc.diary[i].at.Sub(s.bmc.diary[i-1].at))
	}
	want := s.fleet.options.FastPoll
	for i, rest := range rests[:20] {
		if low, high := min(want*3/4, s.fleet.options.MaxBackoff), min(want*5/4, s.fleet.options.MaxBackoff); rest < low || rest > high {
			t.Errorf("rest %d is %s, want %s to %s", i, rest, low, high)
		}
		want = min(want*2, s.fleet.options.MaxBackoff)
	}
	if got := s.observation().ErrSince; !got.Equal(o.ErrSince) {
		t.Errorf("failing since %s, want since %s", got, o.ErrSince)
	}
	if s.told != 1 {
		t.Errorf("told %d times of one failure", s.told)
	}

	s.bmc.fail = nil
	s.runFor(s.fleet.options.MaxBackoff)
	if o := s.observation(); o.Err != nil || !o.ErrSince.IsZero() {
		t.Errorf("after recovery: %+v", o)
	}
	s.bmc.calls()
	s.bmc.fail = failing(errTimeout)
	s.runFor(s.fleet.options.PollInterval + 2*s.fleet.options.FastPoll)
	if n := len(s.bmc.calls()); n < 2 {
		t.Errorf("%d calls: the back-off did not start anew", n)
	}
}

// A wrong password: one request, then quiet, until it changes.
func TestWrongPassword(t *testing.T) {
	s := newStand(t, nil)
	s.bmc.fail = failing(errAuth)
	s.runFor(9 * time.Minute)
	if diff := cmp.Diff([]string{"list"}, s.bmc.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	endpoint := s.actor.spec.Endpoint
	s.fleet.Ensure(Spec{Endpoint: endpoint, Credentials: bmc.Credentials{Username: "admin", Password: "marker"}})
	s.fleet.Refresh(s.key)
	s.runFor(30 * time.Second)
	if calls := s.bmc.calls(); len(calls) != 0 {
		t.Errorf("the same password was tried again: %v", calls)
	}
	s.runFor(time.Minute)
	if diff := cmp.Diff([]string{"list"}, s.bmc.calls()); diff != "" {
		t.Errorf("after ten minutes (-want +got):\n%s", diff)
	}

	s.bmc.fail = nil
	s.fleet.Ensure(Spec{Endpoint: endpoint, Credentials: bmc.Credentials{Username: "admin", Password: "marker2"}})
	s.step()
	if diff := cmp.Diff([]string{"close", "list", "system", "manager", "inventory"}, s.bmc.calls()); diff != "" {
		t.Errorf("with a new password (-want +got):\n%s", diff)
	}
	if o := s.observation(); o.Err != nil || s.clients != 2 {
		t.Errorf("error %v, %d clients", o.Err, s.clients)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for _, test := range []struct{ asked, low, high time.Duration }{
		{time.Minute, time.Minute, time.Minute},
		{time.Second, 3 * time.Second, 7 * time.Second},        // no sooner than the back-off
		{24 * time.Hour, 10 * time.Minute, 10*time.Minute + 1}, // nor for days
	} {
		s := met(t, nil)
		s.bmc.fail = failing(&bmc.Error{Kind: bmc.KindServer, StatusCode: 503, RetryAfter: test.asked})
		s.clock.Step(s.fleet.options.PollInterval)
		if rest := s.step(); rest < test.low || rest > test.high {
			t.Errorf("asked for %s, rests %s", test.asked, rest)
		}
	}
}

// A part that cannot be read is no reason to call the BMC ill.
func TestBrokenParts(t *testing.T) {
	for _, test := range []struct {
		name string
		fail func(string) error
	}{
		{"manager", failOn("manager", errServer)},
		{"manager hangs", failOn("manager", errTimeout)},
		{"inventory", failOn("inventory", errServer)},
		{"inventory hangs", failOn("inventory", errTimeout)},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStand(t, nil)
			s.bmc.fail = test.fail
			s.runFor(24 * time.Hour)
			if o := s.observation(); o.Err != nil || len(o.Systems) != 1 || s.clock.Now().Sub(o.Systems[0].Seen) > s.fleet.options.PollInterval {
				t.Errorf("observation %+v", o)
			}
			if n := len(s.bmc.calls()); n > 24*30*11/10+40 {
				t.Errorf("%d calls in a day", n)
			}
			s.bmc.fail = nil
			s.runFor(s.fleet.options.RefreshInterval)
			if o := s.observation(); o.Manager.URI == "" || o.Systems[0].Inventory == nil {
				t.Errorf("after recovery: %+v", o)
			}
		})
	}
}

func TestSeveralSystems(t *testing.T) {
	s := newStand(t, nil)
	second := *s.bmc.systems[0]
	second.URI = systemURI + "/b"
	part := bmc.System{URI: systemURI + "/part", PowerState: bmc.PowerOn} // nothing that boots
	s.bmc.systems = append(s.bmc.systems, &second, &part)
	s.bmc.fail = failOn("system/b", errServer)
	s.runFor(time.Second)
	if o := s.observation(); o.Err != nil || len(o.Systems) != 1 || o.Systems[0].URI != systemURI {
		t.Fatalf("with a broken one: %+v", o)
	}
	s.bmc.fail = nil
	s.runFor(time.Minute)
	o := s.observation()
	if len(o.Systems) != 2 || o.Systems[1].URI != second.URI || o.Systems[1].Inventory == nil {
		t.Fatalf("the broken one is not looked for again: %+v", o)
	}
	if diff := cmp.Diff([]string{part.URI}, o.Others); diff != "" {
		t.Errorf("others (-want +got):\n%s", diff)
	}
	s.bmc.fail = failOn("system/b", errServer)
	s.runFor(s.fleet.options.PollInterval)
	o = s.observation()
	if o.Err != nil || o.Systems[0].Err != nil || o.Systems[1].Err == nil || o.Systems[1].UUID != "u" {
		t.Errorf("a system that breaks keeps what was known: %+v", o)
	}
	s.bmc.fail = nil
	s.bmc.systems = s.bmc.systems[1:2]
	s.fleet.Refresh(s.key)
	s.step()
	if o := s.observation(); len(o.Systems) != 1 || o.Systems[0].URI != second.URI || len(o.Others) != 0 {
		t.Errorf("after one vanished: %+v", o)
	}
}

// What is no server costs nothing between two lists, and whether there is one is told.
func TestSystemsThatAreNoServers(t *testing.T) {
	s := met(t, nil)
	s.told = 0
	s.bmc.systems = append(s.bmc.systems, &bmc.System{URI: systemURI + "/part", PowerState: bmc.PowerOn})
	s.fleet.Refresh(s.key)
	s.step()
	if o := s.observation(); len(o.Others) != 1 || len(o.Systems) != 1 || s.told == 0 {
		t.Errorf("told %d times, observation %+v", s.told, o)
	}
	s.told, s.bmc.diary = 0, nil
	s.runFor(10 * s.fleet.options.PollInterval)
	for _, e := range s.bmc.diary {
		if e.call == "system/part" {
			t.Errorf("it is asked for at %s", e.at)
		}
	}
	if s.told != 0 {
		t.Errorf("told %d times of nothing", s.told)
	}
}

// Another machine answers at the URI: whose BMC that is, is asked at once.
func TestAnotherMachineAtTheSameURI(t *testing.T) {
	s := met(t, nil)
	s.bmc.systems[0].UUID = "another"
	s.fleet.PollSoon(s.key)
	s.bmc.fail = failOn("manager", errTimeout)
	s.runFor(30 * time.Second)
	if o := s.observation(); o.Manager.URI != "" || o.Systems[0].UUID != "another" {
		t.Errorf("manager %+v of %+v", o.Manager, o.Systems)
	}
	s.bmc.fail = nil
	s.runFor(5 * time.Minute)
	if o := s.observation(); o.Manager.URI == "" {
		t.Error("the manager is not read again")
	}
}

// TestAChangeOfPowerIsFollowed: a restart that nothing waits for is seen soon, and one that lasts for ever costs less and less.
func TestAChangeOfPowerIsFollowed(t *testing.T) {
	s := met(t, nil)
	s.bmc.systems[0].PowerState = bmc.PowerOn
	s.runFor(s.fleet.options.PollInterval + time.Second)
	s.bmc.reset = func(system *bmc.System, _ bmc.ResetType) { system.PowerState = bmc.PowerPoweringOn }
	s.submit(Command{ID: "restart", Kind: Reset, Reset: bmc.ResetForceRestart})
	s.runFor(2 * s.fleet.options.FastPoll)
	if got := s.observation().Systems[0].PowerState; got != bmc.PowerPoweringOn {
		t.Fatalf("after the restart: %s", got)
	}
	s.bmc.systems[0].PowerState = bmc.PowerOn
	s.runFor(3 * s.fleet.options.FastPoll)
	if got := s.observation().Systems[0].PowerState; got != bmc.PowerOn {
		t.Errorf("when it runs again: %s", got)
	}
	s.bmc.systems[0].PowerState = bmc.PowerPoweringOff
	s.runFor(time.Hour)
	before := len(s.bmc.diary)
	s.runFor(time.Hour)
	if calls, most := len(s.bmc.diary)-before, int(time.Hour/s.fleet.options.PollInterval)*12/10; calls > most {
		t.Errorf("%d calls an hour to a BMC that says for ever that its system powers off, want at most %d", calls, most)
	}
}
