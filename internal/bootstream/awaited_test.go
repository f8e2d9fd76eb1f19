package bootstream

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/farrier-dev/farrier/internal/bootview/booturl"
)

// TestWhatIsReachedIsTold: in any order of questions and acknowledgements, those who wait are told of what a boot server of the site has come to,
// once.
func TestWhatIsReachedIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a awaited
		model := map[string]awaitedRecord{}
		sites := rapid.SampledFrom([]string{"", "a", booturl.EverySite})
		counters, keys := rapid.Uint64Range(1, 9), rapid.SampledFrom([]string{"x", "y", "z"})
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				key := keys.Draw(t, "key")
				a.remove(key)
				delete(model, key)
			case 1:
				site, counter := rapid.SampledFrom([]string{"", "a"}).Draw(t, "site"), counters.Draw(t, "counter")
				var want []string
				for key, r := range model {
					if r.counter <= counter && (r.site == site || r.site == booturl.EverySite) {
						want = append(want, key)
						delete(model, key)
					}
				}
				slices.Sort(want)
				if got := slices.Sorted(slices.Values(a.reached(site, counter))); !slices.Equal(got, want) {
					t.Fatalf("reached %v, want %v", got, want)
				}
			default:
				key, r := keys.Draw(t, "key"), awaitedRecord{counters.Draw(t, "counter"), sites.Draw(t, "site")}
				a.add(key, r)
				model[key] = r
			}
			if !maps.Equal(a.by, model) {
				t.Fatalf("awaited %v, want %v", a.by, model)
			}
		}
	})
}

func TestAnAcknowledgementCostsWhatItReaches(t *testing.T) {
	var a awaited
	const waiting = 10_000
	for i := range waiting {
		a.add(fmt.Sprint(i), awaitedRecord{counter: uint64(waiting + i)})
	}
	for counter := range uint64(waiting + 5) {
		a.reached("", counter)
		a.reached("elsewhere", waiting*2)
	}
	if a.steps != 5 || len(a.by) != waiting-5 {
		t.Errorf("%d keys were looked at and %d are awaited; want 5 and %d", a.steps, len(a.by), waiting-5)
	}
}

func TestWhatNobodyAwaitsIsForgotten(t *testing.T) {
	var a awaited
	for i := range 100_000 {
		a.add("key", awaitedRecord{counter: uint64(i + 1)})
	}
	if got := len(*a.sites[""]); got > queueSlack+2 {
		t.Errorf("%d keys are in the queue for one that is awaited", got)
	}
}
