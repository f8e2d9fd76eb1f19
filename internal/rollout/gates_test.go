package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/test/seed"
)

// at has items wait at a gate, or fail at it.
func (f *Facts) at(gate Gate, items ...int) *Facts {
	for _, i := range items {
		f.Items[i].Gate = gate
	}
	return f
}

// TestGates: a wave begins after those before it have passed their gates, or a person has accepted that they did not.
func TestGates(t *testing.T) {
	gated := Policy{Waves: []Wave{{UpTo: Count(2), Bake: time.Hour, Gates: []Gate{ProbeBoot}}, {UpTo: Count(4)}}}
	accepted := gated
	accepted.Accepted = 1
	for name, tc := range map[string]struct {
		policy Policy
		facts  *Facts
		begin  int
		waits  Reason
		says   string
	}{
		"at the gate":                {gated, fleet(9).are(Done, 0).are(Begun, 1).at(ProbeBoot, 1), 0, AtGate, "ProbeBoot waits for m0001"},
		"one is not there yet":       {gated, fleet(9).are(Begun, 0, 1).at(ProbeBoot, 1), 0, WaveRuns, "2 of the wave before are in progress; ProbeBoot waits for m0001"},
		"passed, and bakes":          {gated, fleet(9).are(Done, 0, 1), 0, Baking, "wave 2"},
		"not passed":                 {gated, fleet(9).are(Done, 0).are(Failed, 1).at(ProbeBoot, 1), 0, GateShut, "1 of the wave before"},
		"not passed, and accepted":   {accepted, fleet(9).are(Done, 0).are(Failed, 1).at(ProbeBoot, 1), 0, Baking, "wave 2"},
		"failed elsewhere":           {gated, fleet(9).are(Done, 0).are(Failed, 1), 0, Baking, "wave 2"},
		"the next wave is under way": {gated, fleet(9).are(Done, 0, 1).are(Begun, 2), 1, WaveFull, "wave 2 ends"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.policy, tc.facts)
			wait := d.Waits[tc.facts.Items[len(tc.facts.Items)-1].ID]
			if len(d.Begin) != tc.begin || wait.Reason != tc.waits || !strings.Contains(wait.Message, tc.says) {
				t.Errorf("%d begin, the last waits because of %s: %s", len(d.Begin), wait.Reason, wait.Message)
			}
		})
	}
	many := fleet(9).are(Begun, until(7)...).at(Health, until(7)...)
	many.Items[8].Stand, many.Items[8].Skipped = Done, 3
	if got, want := Decide(Policy{}, many).Gates, "Health waits for m0000, m0001, m0002 and 4 more; ProbeBoot skipped 3 claimed servers"; got != want {
		t.Errorf("gates: %q, want %q", got, want)
	}
	if rest := gated.GatesOf(3); rest != nil || !slices.Equal(gated.GatesOf(1), []Gate{ProbeBoot}) || gated.GatesOf(0) != nil {
		t.Errorf("the rest has gates %v", rest)
	}
}

// gates are where the items of a world wait after their change.
type gates struct {
	*world
	wave map[string]int
	shut float64
}

// step is that of the world, with gates between a change and its end.
func (g *gates) step(t *testing.T) (going bool) {
	t.Helper()
	d := Decide(g.policy, g.facts)
	for _, id := range d.Begin {
		g.item(id).Stand, g.wave[id] = Begun, d.Wave
		g.ends[id] = g.facts.Now.Add(time.Duration(1+g.IntN(40)) * time.Minute)
	}
	g.passed(t, d)
	g.facts.Now = g.facts.Now.Add(3 * time.Minute)
	for i := range g.facts.Items {
		item := &g.facts.Items[i]
		if item.Stand != Begun || g.facts.Now.Before(g.ends[item.ID]) {
			continue
		}
		at := g.policy.GatesOf(g.wave[item.ID])
		switch next := slices.Index(at, item.Gate) + 1; {
		case item.Gate != "" && g.Float64() < g.shut:
			item.Stand, item.Ended, item.Class = Failed, g.facts.Now, "NotPassed"
		case next < len(at):
			item.Gate, g.ends[item.ID] = at[next], g.facts.Now.Add(time.Duration(1+g.IntN(40))*time.Minute)
		default:
			item.Stand, item.Ended, item.Gate = Done, g.facts.Now, ""
		}
	}
	return len(d.Begin) > 0 || d.Begun > 0 || !d.Again.IsZero()
}

// passed says that what begins comes after waves all of whose items have ended and passed their gates, or whose failures were accepted.
func (g *gates) passed(t *testing.T, d *Decision) {
	t.Helper()
	if len(d.Begin) == 0 {
		return
	}
	failed := progressOf(g.facts.Items).failed
	for i := range g.facts.Items {
		item := &g.facts.Items[i]
		before := item.Stand != Waiting && g.wave[item.ID] < d.Wave
		if before && !item.ended() {
			t.Fatalf("wave %d begins while %s of wave %d has not ended: %+v", d.Wave, item.ID, g.wave[item.ID], item)
		}
		if before && item.Stand == Failed && failed > g.policy.Accepted && d.First {
			t.Fatalf("wave %d begins though %s of wave %d has not passed %s", d.Wave, item.ID, g.wave[item.ID], item.Gate)
		}
	}
}

// TestNoWaveBeginsBeforeItsGates: however long items wait at gates, and whichever of them fail there. A person who accepts failures lets it go on to its end.
func TestNoWaveBeginsBeforeItsGates(t *testing.T) {
	first := seed.New(t)
	for round := range uint64(24) {
		g := &gates{chance(t, first, round, 60), map[string]int{}, []float64{0, 0.05, 1}[round%3]}
		g.policy = Policy{Fleet: Count(1 + g.IntN(20)), Waves: []Wave{
			{UpTo: Count(1 + g.IntN(4)), Bake: 10 * time.Minute, Gates: []Gate{ProbeBoot}},
			{UpTo: Percent(10 + g.IntN(30)), Gates: []Gate{ProbeBoot, Health}},
			{UpTo: Percent(60)},
		}}
		stops := 0
		for steps := 0; ; steps++ {
			if steps > 20_000 {
				t.Fatal("it never ends")
			}
			if g.step(t) {
				continue
			}
			come := progressOf(g.facts.Items)
			if come.touched == come.all {
				break
			}
			if held := Decide(g.policy, g.facts).Held; held == nil || held.Reason != GateShut || come.failed == 0 {
				t.Fatalf("round %d: it stands still with %d of %d: %+v", round, come.touched, come.all, held)
			}
			stops++
			g.policy.Accepted = come.failed
		}
		if shut := g.shut == 1; shut && stops != 2 || g.shut == 0 && stops != 0 {
			t.Errorf("round %d: it stood still %d times", round, stops)
		}
	}
}
