package rollout

import (
	"testing"
	"time"
)

func TestWindows(t *testing.T) {
	at := func(text string) time.Time {
		when, err := time.Parse("2006-01-02T15:04 -0700", text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for name, tc := range map[string]struct {
		start    string
		duration time.Duration
		zone     string
		now      string
		open     bool
		change   string
	}{
		"before":                       {"0 22 * * *", time.Hour, "", "2026-03-01T21:59 +0000", false, "2026-03-01T22:00 +0000"},
		"at its start":                 {"0 22 * * *", time.Hour, "", "2026-03-01T22:00 +0000", true, "2026-03-01T23:00 +0000"},
		"at its end":                   {"0 22 * * *", time.Hour, "", "2026-03-01T23:00 +0000", false, "2026-03-02T22:00 +0000"},
		"over midnight":                {"0 22 * * 1-5", 6 * time.Hour, "", "2026-02-28T03:00 +0000", true, "2026-02-28T04:00 +0000"},
		"on a Sunday":                  {"0 22 * * 1-5", 6 * time.Hour, "", "2026-03-01T23:00 +0000", false, "2026-03-02T22:00 +0000"},
		"in Berlin":                    {"0 22 * * *", time.Hour, "Europe/Berlin", "2026-03-01T21:30 +0000", true, "2026-03-01T22:00 +0000"},
		"in Berlin in summer":          {"0 22 * * *", time.Hour, "Europe/Berlin", "2026-07-01T20:30 +0000", true, "2026-07-01T21:00 +0000"},
		"as long as the clock goes on": {"0 1 * * *", 3 * time.Hour, "Europe/Berlin", "2026-03-29T02:30 +0000", true, "2026-03-29T03:00 +0000"},
		"windows that overlap":         {"0 * * * *", 90 * time.Minute, "", "2026-03-01T12:15 +0000", true, "2026-03-01T13:30 +0000"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := NewWindow(tc.start, tc.duration, tc.zone)
			if err != nil {
				t.Fatal(err)
			}
			if is, change := w.Open(at(tc.now)); is != tc.open || !change.Equal(at(tc.change)) {
				t.Errorf("open %t until %s, want %t until %s", is, change.UTC(), tc.open, tc.change)
			}
		})
	}
}

func TestWindowsThatAreNone(t *testing.T) {
	for name, tc := range map[string]struct {
		start    string
		duration time.Duration
		zone     string
	}{
		"no schedule":      {"", time.Hour, ""},
		"six fields":       {"0 0 22 * * *", time.Hour, ""},
		"a word":           {"@daily", time.Hour, ""},
		"a time zone":      {"TZ=Europe/Berlin 0 22 * * *", time.Hour, "UTC"},
		"an hour too many": {"0 24 * * *", time.Hour, ""},
		"never":            {"0 0 31 2 *", time.Hour, ""},
		"no duration":      {"0 22 * * *", 0, ""},
		"a month":          {"0 22 * * *", 31 * 24 * time.Hour, ""},
		"nowhere":          {"0 22 * * *", time.Hour, "Europe/Atlantis"},
	} {
		if _, err := NewWindow(tc.start, tc.duration, tc.zone); err == nil {
			t.Errorf("%s is a window", name)
		}
	}
}
