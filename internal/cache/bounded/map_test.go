package bounded

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMapHasTheNewest: whatever is put, it has the limit's worth of keys that became known last, with the values put last.
func TestMapHasTheNewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		var m Map[int, int]
		var known []int // in the order in which they became known
		values := map[int]int{}
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "keys") {
			dropped, made := m.Put(key, i, limit)
			if !slices.Contains(known, key) {
				known = append(known, key)
			}
			values[key] = i
			if made != (len(known) > limit) || made && dropped != values[known[0]] {
				t.Fatalf("%d was dropped for %d: %t; known are %v", dropped, key, made, known)
			}
			if made {
				known = known[1:]
			}
		}
		if m.Len() != len(known) || len(m.order) != len(known) {
			t.Fatalf("%d values and %d keys, want %d", m.Len(), len(m.order), len(known))
		}
		for key := range 10 {
			got, ok := m.Get(key)
			if want := slices.Contains(known, key); ok != want || ok && got != values[key] {
				t.Fatalf("%d: %d, %v; want %d, %v", key, got, ok, values[key], want)
			}
		}
	})
}

// TestRepeatedKeysHoldNoPlaces: who repeats his own keys all the time leaves as much room to others as who does not.
func TestRepeatedKeysHoldNoPlaces(t *testing.T) {
	const limit = 8
	var m Map[int, string]
	for stranger := range limit - 1 {
		m.Put(stranger, "stranger", limit)
	}
	for other := 100; other < 104; other++ {
		for stranger := range limit - 1 {
			if _, known := m.Get(stranger); known {
				m.Put(stranger, "stranger", limit)
			}
		}
		m.Put(other, "other", limit)
	}
	for other := 100; other < 104; other++ {
		if _, ok := m.Get(other); !ok {
			t.Errorf("%d has been pushed out by keys that were repeated", other)
		}
	}
}
