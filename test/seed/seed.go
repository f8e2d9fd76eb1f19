package seed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// variable repeats a run that has failed: tests print what they were run with.
const variable = "FARRIER_TEST_SEED"

// New returns the seed that the environment names, or another one each time, and logs it.
func New(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(variable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
	}
	t.Logf("%s=%d makes the same choices", variable, seed)
	return seed
}
