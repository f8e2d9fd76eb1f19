package await

import (
	"testing"
	"time"
)

const (
	// patience is a limit against hanging, not a measurement.
	patience = 3 * time.Minute
	// margin is left of the time that go test gives a test binary, for the test to say what it waited for.
	margin = 15 * time.Second
	// pause is between two looks.
	pause = 5 * time.Millisecond
)

// Patience is how long a test that begins to wait now may do so.
func Patience(t testing.TB) time.Duration {
	limited, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return patience
	}
	deadline, ok := limited.Deadline()
	if !ok {
		return patience
	}
	return min(patience, time.Until(deadline)-margin)
}

// Until looks until nothing is missing, and fails the test with what is still missing otherwise.
func Until(t testing.TB, what string, missing func() string) {
	t.Helper()
	for deadline := time.Now().Add(Patience(t)); ; time.Sleep(pause) {
		still := missing()
		if still == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s", what, still)
		}
	}
}

// True looks until a condition holds.
func True(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Until(t, what, func() string {
		if holds() {
			return ""
		}
		return "it does not come"
	})
}

// Nil looks until a check returns nil, and fails the test with its last error otherwise.
func Nil(t testing.TB, what string, check func() error) {
	t.Helper()
	Until(t, what, func() string {
		if err := check(); err != nil {
			return err.Error()
		}
		return ""
	})
}

// Receive returns what comes out of a channel.
func Receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(Patience(t)):
		t.Fatalf("%s: it does not come", what)
		panic("unreachable")
	}
}
