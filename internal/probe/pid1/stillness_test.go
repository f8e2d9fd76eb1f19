package pid1

import (
	"testing"
	"time"
)

func TestStillness(t *testing.T) {
	type at struct {
		seconds float64
		loaded  bool
		events  string
	}
	for name, c := range map[string]struct {
		looks []at
		still float64 // when it is said; 0: never
	}{
		"nothing appears":                   {[]at{{0, false, "7"}, {1, false, "7"}, {2, false, "7"}}, 2},
		"a driver":                          {[]at{{0, false, "7"}, {1, true, "7"}, {2.5, false, "7"}, {3, false, "7"}}, 3},
		"a disk of a driver that is loaded": {[]at{{0, true, "7"}, {1.9, false, "8"}, {3.5, false, "8"}, {4, false, "8"}}, 4},
		"a kernel that tells nothing":       {[]at{{0, true, ""}, {1.9, false, ""}, {2, false, ""}}, 2},
		"a device that comes and goes":      {[]at{{0, true, "1"}, {1.5, false, "2"}, {29, false, "3"}, {30, false, "4"}}, 30},
		"one that never rests":              {[]at{{0, true, "1"}, {1, false, "2"}, {2, false, "3"}, {3, false, "4"}}, 0},
	} {
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		s, still := newStillness(begin), 0.0
		for _, l := range c.looks {
			if now := begin.Add(time.Duration(l.seconds * float64(time.Second))); s.look(now, l.loaded, l.events) && still == 0 {
				still = l.seconds
			}
		}
		if still != c.still {
			t.Errorf("%s: still after %v s, want %v", name, still, c.still)
		}
	}
}
