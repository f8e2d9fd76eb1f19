package rollout

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/test/seed"
)

// world is a fleet through which a change goes. Items take a while, and some fail.
type world struct {
	*rand.Rand
	policy Policy
	facts  *Facts
	ends   map[string]time.Time
	bricks float64
	// most is how many machines were unavailable at once.
	most int
}

func (w *world) item(id string) *Item {
	for i := range w.facts.Items {
		if w.facts.Items[i].ID == id {
			return &w.facts.Items[i]
		}
	}
	return nil
}

// step decides, lets begin what may, and lets three minutes pass.
func (w *world) step(t *testing.T) (waiting int) {
	t.Helper()
	d := Decide(w.policy, w.facts)
	for _, id := range d.Begin {
		w.item(id).Stand = Begun
		w.ends[id] = w.facts.Now.Add(time.Duration(1+w.IntN(40)) * time.Minute)
	}
	w.check(t, len(d.Begin) > 0)
	w.facts.Now = w.facts.Now.Add(3 * time.Minute)
	for i := range w.facts.Items {
		item := &w.facts.Items[i]
		if item.Stand != Begun || w.facts.Now.Before(w.ends[item.ID]) {
			continue
		}
		if item.Stand, item.Ended = Done, w.facts.Now; w.Float64() < w.bricks {
			item.Stand, item.Class = Failed, "VersionNotReached"
			for m := range w.facts.Machines {
				w.facts.Machines[m].Unavailable = w.facts.Machines[m].Unavailable || w.facts.Machines[m].Name == item.ID
			}
		}
	}
	if d.Again.IsZero() && len(d.Begin) == 0 && d.Begun == 0 && len(d.Waits) > 0 {
		return -len(d.Waits) // nothing will ever happen
	}
	return len(d.Waits) + d.Begun
}

// check counts what is unavailable at every place. Only who lets something begin answers for there being too many.
func (w *world) check(t *testing.T, began bool) {
	t.Helper()
	away, all := map[place]int{}, map[place]int{}
	begun := map[string]bool{}
	for _, i := range w.facts.Items {
		begun[i.ID] = i.Stand == Begun
	}
	total := 0
	for _, m := range w.facts.Machines {
		gone := m.Unavailable || begun[m.Name]
		if gone {
			total++
		}
		for _, at := range placesOf(m) {
			if all[at]++; gone {
				away[at]++
			}
		}
	}
	w.most = max(w.most, total)
	if !began {
		return
	}
	for at, n := range away {
		limit := map[Reason]Amount{FleetBudget: w.policy.Fleet, ZoneBudget: w.policy.Zone, RackBudget: w.policy.Rack}[at.kind]
		if limit.IsSet() && n > limit.floor(all[at]) && at.kind == FleetBudget {
			t.Fatalf("%d machines are unavailable, and %s may be", n, limit)
		}
	}
}

// chance makes a world.
func chance(t *testing.T, first, round uint64, n int) *world {
	t.Helper()
	w := &world{Rand: rand.New(rand.NewPCG(first, round)), facts: fleet(n), ends: map[string]time.Time{}}
	Order(w.facts.Items, w.facts.Machines)
	return w
}

// TestNeverMoreThanTheBudget: a thousand machines, at most 50 unavailable, some of them for other reasons; and everything is done in the end.
func TestNeverMoreThanTheBudget(t *testing.T) {
	first := seed.New(t)
	for round, n := range []int{100, 100, 100, 1000} {
		t.Run(fmt.Sprint(round, " of ", n), func(t *testing.T) {
			t.Parallel()
			w := chance(t, first, uint64(round), n)
			w.policy = Policy{Fleet: Percent(5), Zone: Percent(20), Rack: Count(2), Waves: []Wave{{UpTo: Count(2), Bake: time.Hour}, {UpTo: Percent(10)}}}
			steps := 0
			for ; w.step(t) != 0; steps++ {
				if i := w.IntN(n); w.IntN(30) == 0 {
					w.facts.Machines[i].Unavailable = !w.facts.Machines[i].Unavailable
				}
				if steps > 50_000 {
					t.Fatal("it never ends")
				}
				if steps%500 == 499 { // somebody mends what is broken
					for i := range w.facts.Machines {
						w.facts.Machines[i].Unavailable = false
					}
				}
			}
			t.Logf("%d steps, at most %d machines unavailable", steps, w.most)
		})
	}
}

// TestABadImage bricks one machine in fifty, or in two, or all: no more than the canaries and the limit of failures are lost, whatever the order in
// which failures become known.
func TestABadImage(t *testing.T) {
	first := seed.New(t)
	for round := range uint64(12) {
		for _, bricks := range []float64{0.02, 0.3, 1} {
			w := chance(t, first, round, 120)
			w.bricks = bricks
			w.policy = Policy{Fleet: Count(50), Failures: Count(1 + int(round%5)), Waves: []Wave{{UpTo: Count(1 + int(round%4)), Bake: 10 * time.Minute}, {UpTo: Percent(1)}, {UpTo: Percent(10)}}}
			for steps := 0; w.step(t) > 0; steps++ {
				if steps > 50_000 {
					t.Fatal("it never ends")
				}
			}
			come := progressOf(w.facts.Items)
			if most := w.policy.Failures.count + w.policy.Waves[0].UpTo.count; come.failed > most {
				t.Errorf("round %d: %d machines are lost, and at most %d may be", round, come.failed, most)
			}
			if bricks == 1 && come.touched > w.policy.Failures.count+w.policy.Waves[0].UpTo.count {
				t.Errorf("round %d: %d machines were touched by an image that bricks all", round, come.touched)
			}
			if come.failed < w.policy.Failures.count && come.done+come.failed != come.all {
				t.Errorf("round %d: it ended with %d failures, below the limit, and %d of %d", round, come.failed, come.touched, come.all)
			}
		}
	}
}

// TestDecideForgetsNothing: a decision follows from the facts alone, so another process goes on where the first one stopped.
func TestDecideForgetsNothing(t *testing.T) {
	w := chance(t, seed.New(t), 1, 200)
	w.policy = Policy{Fleet: Count(9), Waves: []Wave{{UpTo: Count(2), Bake: time.Minute}}}
	for range 300 {
		a, b := Decide(w.policy, w.facts), Decide(w.policy, w.facts)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("twice (-one +other)\n%s", diff)
		}
		if w.step(t) == 0 {
			return
		}
	}
}
