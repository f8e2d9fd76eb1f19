package bounded

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestCacheHasWhatWasUsedLast: whatever is done, it has the limit's worth of keys that were used last, with the values added last.
func TestCacheHasWhatWasUsedLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		c := NewCache[int, int](limit)
		var used []int // the most recently used last
		values := map[int]int{}
		drop := func(key int) { used = slices.DeleteFunc(used, func(k int) bool { return k == key }) }
		for i := range rapid.IntRange(0, 50).Draw(t, "steps") {
			key := rapid.IntRange(0, 9).Draw(t, "key")
			switch rapid.SampledFrom([]string{"add", "get", "remove"}).Draw(t, "what") {
			case "add":
				c.Add(key, i)
				drop(key)
				if used = append(used, key); len(used) > limit {
					used = used[1:]
				}
				values[key] = i
			case "get":
				got, ok := c.Get(key)
				if want := slices.Contains(used, key); ok != want || ok && got != values[key] {
					t.Fatalf("%d: %d, %v; want %d, %v", key, got, ok, values[key], want)
				}
				if ok {
					drop(key)
					used = append(used, key)
				}
			case "remove":
				c.Remove(key)
				drop(key)
			}
			if c.Len() != len(used) || len(c.by) != len(used) {
				t.Fatalf("%d keys, %d in the map, want %d", c.Len(), len(c.by), len(used))
			}
		}
	})
}
