package product

import (
	"context"
	"testing"
	"time"
)

// Patience is how long anything that a test waits for may take before the test gives up. It is a limit against hanging,
// not a measurement.
const Patience = 3 * time.Minute

// Eventually waits until check returns nil, and fails the test with its last error otherwise.
func Eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := check(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
