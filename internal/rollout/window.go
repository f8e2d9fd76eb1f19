package rollout

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// longestWindow bounds a window: a longer one is none.
const longestWindow = 7 * 24 * time.Hour

// Window is a time that comes again and again, in which items may begin. What has begun in it ends when it ends.
type Window struct {
	schedule cron.Schedule
	duration time.Duration
	zone     *time.Location
}

// NewWindow makes a window that opens at the times of a cron schedule of five fields (crontab(5)) in a time zone, and is open for a while. An empty
// zone is UTC.
func NewWindow(start string, duration time.Duration, zone string) (Window, error) {
	if duration < time.Minute || duration > longestWindow {
		return Window{}, fmt.Errorf("duration %s is not between a minute and %s", duration, longestWindow)
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return Window{}, fmt.Errorf("time zone: %w", err)
	}
	if strings.Contains(start, "=") {
		return Window{}, fmt.Errorf("start: %.40q names a time zone, which has a field of its own", start)
	}
	schedule, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(start)
	if err != nil {
		return Window{}, fmt.Errorf("start: %w", err)
	}
	w := Window{schedule: schedule, duration: duration, zone: location}
	if schedule.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, location)).IsZero() {
		return Window{}, fmt.Errorf("start: %.40q never comes", start)
	}
	return w, nil
}

// Open reports whether a window is open, and until when; if not, when it opens next.
func (w Window) Open(now time.Time) (open bool, change time.Time) {
	now = now.In(w.zone)
	// The schedule looks for the first start after a moment: the last one before now may be followed by others while the window is open.
	start := w.schedule.Next(now.Add(-w.duration))
	if start.IsZero() || start.After(now) {
		return false, start
	}
	for next := w.schedule.Next(start); !next.IsZero() && !next.After(now); next = w.schedule.Next(start) {
		start = next
	}
	return true, start.Add(w.duration)
}

// open reports whether any window is open; if not, when the first opens.
func open(windows []Window, now time.Time) (bool, time.Time) {
	var first time.Time
	for _, w := range windows {
		is, change := w.Open(now)
		if is {
			return true, change
		}
		if first.IsZero() || !change.IsZero() && change.Before(first) {
			first = change
		}
	}
	return len(windows) == 0, first
}
