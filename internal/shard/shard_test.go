package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farrier-dev/farrier/test/seed"
)

// TestOf: the shard of a BMC is the same in every version and process, and BMCs are spread evenly.
func TestOf(t *testing.T) {
	for key, want := range map[string]int{"": 2, "bmc-1": 4, "rack-1-bmc-2": 1} {
		if got := Of(key, 6); got != want {
			t.Errorf("%q is in shard %d, and was in %d: managers of two versions would both act on it", key, got, want)
		}
	}
	for _, shards := range []int{-1, 0, 1} {
		if got := Of("bmc", shards); got != 0 {
			t.Errorf("of %d shards: %d", shards, got)
		}
	}
	const bmcs = 12_000
	for _, shards := range []int{2, 3, 6, 12, Max} {
		count := make([]int, shards)
		for i := range bmcs {
			count[Of(fmt.Sprintf("bmc-%05d", i), shards)]++
		}
		mean := bmcs / shards
		if least, most := slices.Min(count), slices.Max(count); least < mean*3/4 || most > mean*5/4 {
			t.Errorf("%d shards have %d to %d of %d BMCs", shards, least, most, bmcs)
		}
	}
}

// TestHolders checks what every division has to keep, as managers come and go, and that no shard changes hands without need.
func TestHolders(t *testing.T) {
	chance := rand.New(rand.NewPCG(seed.New(t), 0)) //nolint:gosec // choices of a test
	for range 100 {
		holders := make([]string, 1+chance.IntN(Max))
		var managers []string
		for step := range 12 {
			before := slices.Clone(managers)
			if len(managers) == 0 || len(managers) < 8 && chance.IntN(2) == 0 {
				managers = append(managers, fmt.Sprintf("manager-%d_%x", step, chance.Uint32()))
			} else {
				at := chance.IntN(len(managers))
				managers = slices.Delete(managers, at, at+1)
			}
			after := Holders(holders, managers)
			check(t, managers, after)
			shuffled := slices.Concat(managers, managers)
			chance.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if again := Holders(holders, shuffled); !slices.Equal(after, again) {
				t.Fatalf("%v among %v: %v, in another order %v", holders, managers, after, again)
			}
			if again := Holders(after, managers); !slices.Equal(after, again) {
				t.Fatalf("among %v: %v, and then %v though nothing has changed", managers, after, again)
			}
			for i := range holders {
				if came := !slices.Contains(before, after[i]); holders[i] != after[i] && slices.Contains(managers, holders[i]) && !came {
					t.Fatalf("%v become %v among %v: shard %d goes from one that stays to another that was there", before, managers, holders, i)
				}
			}
			holders = after
		}
	}
}

// check: every shard has one holder that is alive, and all managers have as many, or one more.
func check(t *testing.T, managers, holders []string) {
	t.Helper()
	count := map[string]int{}
	for _, m := range managers {
		count[m] = 0
	}
	for i, h := range holders {
		if _, alive := count[h]; !alive && len(managers) > 0 || len(managers) == 0 && h != "" {
			t.Fatalf("shard %d is held by %q, managers are %v", i, h, managers)
		}
		count[h]++
	}
	least, most := len(holders), 0
	for _, m := range managers {
		least, most = min(least, count[m]), max(most, count[m])
	}
	if most > least+1 && len(managers) > 0 {
		t.Fatalf("%d shards among %d managers: %v", len(holders), len(managers), count)
	}
}

func BenchmarkHolders(b *testing.B) {
	managers := make([]string, 8)
	for i := range managers {
		managers[i] = fmt.Sprint(rand.Uint64()) //nolint:gosec // names
	}
	for b.Loop() {
		Holders(make([]string, Max), managers)
	}
}
