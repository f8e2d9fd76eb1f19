package console_test

import (
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// announcing is a fake clock that tells who has begun to wait, so that a test steps it neither before nor for somebody else.
type announcing struct {
	*clocktesting.FakeClock
	waits chan time.Duration
}

func newClock() *announcing {
	return &announcing{clocktesting.NewFakeClock(time.Unix(0, 0)), make(chan time.Duration, 64)}
}

// After implements clock.Clock.
func (a *announcing) After(d time.Duration) <-chan time.Time {
	defer func() { a.waits <- d }()
	return a.FakeClock.After(d)
}

// NewTicker implements clock.WithTicker.
func (a *announcing) NewTicker(d time.Duration) clock.Ticker {
	defer func() { a.waits <- d }()
	return a.FakeClock.NewTicker(d)
}

// waitedFor returns once somebody waits that long.
func (a *announcing) waitedFor(d time.Duration) {
	for next := range a.waits {
		if next == d {
			return
		}
	}
}
