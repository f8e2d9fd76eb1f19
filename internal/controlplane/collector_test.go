package controlplane

import (
	"testing"

	"github.com/farrier-dev/farrier/internal/host/collector"
)

func TestTheCollectorTakesTheMemoryThatThereIs(t *testing.T) {
	for text, want := range map[string]collector.Share{
		"MemTotal:       24689152 kB\nMemFree: 1 kB\n": 300,
		"MemTotal:        8052000 kB\n":                300,
		"MemTotal:        4026000 kB\n":                200,
		"MemTotal:        2013000 kB\n":                100,
		"MemTotal: much\n":                             100,
		"MemTotal:\n":                                  100,
		"":                                             100,
	} {
		if got := collectorShare(text, 0); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestTheCollectorKeepsWithinTheLimit: what a container may have counts, however much the host has.
func TestTheCollectorKeepsWithinTheLimit(t *testing.T) {
	const host = "MemTotal:       24689152 kB\n"
	for limit, want := range map[int64]collector.Share{0: 300, 64 << 30: 300, 4 << 30: 200, 1 << 30: 100} {
		if got := collectorShare(host, limit); got != want {
			t.Errorf("limit of %d MiB: %d, want %d", limit>>20, got, want)
		}
	}
}
