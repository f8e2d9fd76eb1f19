package rollout

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fleet is n machines, each with one item that waits: ten machines a rack, five racks a zone.
func fleet(n int) *Facts {
	f := &Facts{Now: start}
	for i := range n {
		name := fmt.Sprintf("m%04d", i)
		f.Machines = append(f.Machines, Machine{Name: name, Zone: fmt.Sprintf("z%d", i/50), Rack: fmt.Sprintf("r%d", i/10%5)})
		f.Items = append(f.Items, Item{ID: name, Machines: []string{name}})
	}
	return f
}

// are has items be in a state.
func (f *Facts) are(stand Stand, ids ...int) *Facts {
	for _, i := range ids {
		f.Items[i].Stand = stand
		if f.Items[i].ended() {
			f.Items[i].Ended = f.Now
		}
	}
	return f
}

// until are the numbers below n.
func until(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func mustWindow(t *testing.T, start string, duration time.Duration, zone string) Window {
	t.Helper()
	w, err := NewWindow(start, duration, zone)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestDecide(t *testing.T) {
	careful := Policy{Waves: []Wave{{UpTo: Count(2), Bake: time.Hour}, {UpTo: Percent(10)}}}
	for name, tc := range map[string]struct {
		policy Policy
		facts  *Facts
		begin  int
		waits  Reason // of the last item
		wave   int
		again  time.Duration
	}{
		"no policy at all":                     {Policy{}, fleet(20), 20, "", 1, 0},
		"so many of the fleet":                 {Policy{Fleet: Count(3)}, fleet(20), 3, FleetBudget, 1, 0},
		"a share of the fleet":                 {Policy{Fleet: Percent(10)}, fleet(20), 2, FleetBudget, 1, 0},
		"a share of few is at least one":       {Policy{Fleet: Percent(10)}, fleet(5), 1, FleetBudget, 1, 0},
		"none of the fleet":                    {Policy{Fleet: Count(0)}, fleet(5), 0, FleetBudget, 1, 0},
		"less what has begun":                  {Policy{Fleet: Count(3)}, fleet(20).are(Begun, 4, 5), 1, FleetBudget, 1, 0},
		"so many of each rack":                 {Policy{Rack: Count(1)}, fleet(20), 2, RackBudget, 1, 0},
		"so many of each zone":                 {Policy{Zone: Count(4)}, fleet(100), 8, ZoneBudget, 1, 0},
		"all budgets at once":                  {Policy{Fleet: Count(7), Zone: Count(4), Rack: Count(1)}, fleet(100), 7, FleetBudget, 1, 0},
		"what has failed is as it is":          {Policy{Fleet: Count(3)}, fleet(20).are(Failed, 4, 5), 3, FleetBudget, 1, 0},
		"the canaries":                         {careful, fleet(100), 2, WaveFull, 1, 0},
		"the canaries are under way":           {careful, fleet(100).are(Begun, 0, 1), 0, WaveRuns, 2, 0},
		"one canary is not done":               {careful, fleet(100).are(Done, 0).are(Begun, 1), 0, WaveRuns, 2, 0},
		"the canaries bake":                    {careful, fleet(100).are(Done, 0, 1), 0, Baking, 2, time.Hour},
		"a wave that has begun goes on":        {careful, fleet(100).are(Done, 0, 1).are(Begun, 2), 7, WaveFull, 2, 0},
		"the rest":                             {careful, fleet(100).are(Done, until(10)...), 90, "", 3, 0},
		"a wave within the one before":         {Policy{Waves: []Wave{{UpTo: Count(5)}, {UpTo: Percent(1), Bake: time.Hour}}}, fleet(100).are(Done, until(5)...), 95, "", 3, 0},
		"canaries of a fleet of one":           {careful, fleet(1), 1, "", 1, 0},
		"the limit of failures":                {Policy{Failures: Count(2)}, fleet(100).are(Failed, 3, 4), 0, FailureLimit, 1, 0},
		"below the limit, what may still fail": {Policy{Failures: Count(3)}, fleet(100).are(Failed, 3), 2, Risk, 1, 0},
		"failures that were accepted":          {Policy{Failures: Count(2), Accepted: 2}, fleet(100).are(Failed, 3, 4), 2, Risk, 1, 0},
		"a share of failures":                  {Policy{Failures: Percent(10)}, fleet(100).are(Failed, until(10)...), 0, FailureLimit, 1, 0},
		"paused":                               {Policy{Held: Paused}, fleet(3), 0, Paused, 1, 0},
		"aborted":                              {Policy{Held: Aborted}, fleet(3), 0, Aborted, 1, 0},
		"out of the window":                    {Policy{Windows: []Window{mustWindow(t, "0 22 * * *", time.Hour, "")}}, fleet(3), 0, WindowClosed, 1, 10 * time.Hour},
		"in the window":                        {Policy{Windows: []Window{mustWindow(t, "0 11 * * *", 2*time.Hour, "")}}, fleet(3), 3, "", 1, 0},
		"in one of the windows":                {Policy{Windows: []Window{mustWindow(t, "0 22 * * *", time.Hour, ""), mustWindow(t, "0 12 * * *", time.Hour, "")}}, fleet(3), 3, "", 1, 0},
		"nothing":                              {careful, fleet(0), 0, "", 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.policy, tc.facts)
			if len(d.Begin) != tc.begin || d.Wave != tc.wave {
				t.Errorf("%d begin, in wave %d; want %d in wave %d", len(d.Begin), d.Wave, tc.begin, tc.wave)
			}
			if n := len(tc.facts.Items); n > 0 {
				if wait := d.Waits[tc.facts.Items[n-1].ID]; wait.Reason != tc.waits || tc.waits != "" && wait.Message == "" {
					t.Errorf("the last waits because of %q (%s), want %q", wait.Reason, wait.Message, tc.waits)
				}
			}
			again := time.Duration(0)
			if !d.Again.IsZero() {
				again = d.Again.Sub(start)
			}
			if again != tc.again {
				t.Errorf("again in %s, want %s", again, tc.again)
			}
			waiting := 0
			for _, i := range tc.facts.Items {
				if i.Stand == Waiting {
					waiting++
				}
			}
			if len(d.Begin)+len(d.Waits) != waiting {
				t.Errorf("%d begin and %d wait, of %d", len(d.Begin), len(d.Waits), waiting)
			}
		})
	}
}

// TestWhatIsUnavailableAlready counts, and does not begin itself.
func TestWhatIsUnavailableAlready(t *testing.T) {
	f := fleet(20)
	f.Machines[0].Unavailable, f.Machines[5].Unavailable = true, true
	d := Decide(Policy{Fleet: Count(3)}, f)
	if !slices.Equal(d.Begin, []string{"m0001"}) || d.Waits["m0000"].Reason != Unhealthy {
		t.Errorf("begin %v, the first waits because of %v", d.Begin, d.Waits["m0000"])
	}
	f = fleet(20)
	f.Others = []Item{{ID: "other", Machines: []string{"m0000", "m0001"}, Stand: Begun}}
	if d := Decide(Policy{Fleet: Count(3)}, f); len(d.Begin) != 3 {
		t.Errorf("begin %v: machines that are away for another change cost nothing more", d.Begin)
	}
	if d := Decide(Policy{Fleet: Count(2)}, f); !slices.Equal(d.Begin, []string{"m0000", "m0001"}) {
		t.Errorf("begin %v", d.Begin)
	}
}

// TestAnItemOfSeveralMachines: a BMC with four systems needs room for all of them.
func TestAnItemOfSeveralMachines(t *testing.T) {
	f := fleet(8)
	f.Items = []Item{{ID: "chassis", Machines: []string{"m0000", "m0001", "m0002", "m0003"}}, {ID: "single", Machines: []string{"m0004"}}}
	if d := Decide(Policy{Fleet: Count(3)}, f); !slices.Equal(d.Begin, []string{"single"}) || d.Waits["chassis"].Reason != FleetBudget {
		t.Errorf("begin %v, waits %v", d.Begin, d.Waits)
	}
	if d := Decide(Policy{Fleet: Count(4)}, f); !slices.Equal(d.Begin, []string{"chassis"}) {
		t.Errorf("begin %v", d.Begin)
	}
}

func TestLimitsOfClasses(t *testing.T) {
	f := fleet(100).are(Failed, 1, 2, 3)
	f.Items[1].Class, f.Items[2].Class, f.Items[3].Class = "VersionNotReached", "TransferFailed", "TransferFailed"
	for name, tc := range map[string]struct {
		classes map[string]int
		held    bool
	}{
		"none of it": {map[string]int{"BMCUnreachable": 1}, false},
		"below":      {map[string]int{"TransferFailed": 3}, false},
		"reached":    {map[string]int{"TransferFailed": 3, "VersionNotReached": 1}, true},
	} {
		if d := Decide(Policy{Classes: tc.classes}, f); (d.Held != nil) != tc.held {
			t.Errorf("%s: %v", name, d.Held)
		}
	}
	if d := Decide(Policy{Failures: Count(3)}, f); d.Held == nil || d.Held.Message != "3 have failed, the limit is 3: 2 TransferFailed, 1 VersionNotReached" {
		t.Errorf("held: %v", d.Held)
	}
}

// TestOrder: the first items stand in different racks of different zones.
func TestOrder(t *testing.T) {
	f := fleet(200)
	slices.Reverse(f.Items)
	Order(f.Items, f.Machines)
	var got []string
	for _, i := range f.Items[:6] {
		got = append(got, i.ID)
	}
	if want := []string{"m0000", "m0050", "m0100", "m0150", "m0010", "m0060"}; !slices.Equal(got, want) {
		t.Errorf("the first are %v, want %v", got, want)
	}
	if len(f.Items) != 200 || f.Items[199].ID != "m0199" {
		t.Errorf("the last is %s", f.Items[199].ID)
	}
}

func TestParseAmount(t *testing.T) {
	for text, want := range map[string]Amount{"0": Count(0), "7": Count(7), "1%": Percent(1), "100%": Percent(100)} {
		if got, err := ParseAmount(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "%", "-1", "+1", "1.5", "101%", "1 %", "many", "99999999999"} {
		if got, err := ParseAmount(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
