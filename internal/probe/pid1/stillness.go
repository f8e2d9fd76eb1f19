package pid1

import (
	"os"
	"time"
)

const (
	// stillFor is how long nothing may appear before the first report: no driver, and no disk or link of one, of which the kernel tells by an event.
	stillFor = 2 * time.Second
	// stillAtLatest is when the report is made all the same: of a device that comes and goes the kernel never stops telling.
	stillAtLatest = 30 * time.Second
)

// stillness decides when hardware has stopped appearing.
type stillness struct {
	began, last time.Time
	events      string
}

func newStillness(now time.Time) *stillness { return &stillness{began: now, last: now} }

// look notes what is so now, and reports whether nothing more is to be waited for. events is what kernelEvents says.
func (s *stillness) look(now time.Time, loaded bool, events string) bool {
	if loaded || events != s.events {
		s.last, s.events = now, events
	}
	return now.Sub(s.last) >= stillFor || now.Sub(s.began) >= stillAtLatest
}

// kernelEvents is the number of the kernel's last event of a device (ABI/testing/sysfs-uevent in Linux); empty where it has none.
func kernelEvents() string {
	text, _ := os.ReadFile("/sys/kernel/uevent_seqnum") // always empty then, and drivers alone count
	return string(text)
}
