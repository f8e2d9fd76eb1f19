package controlplane

import "testing"

func TestTheCollectorTakesTheMemoryThatThereIs(t *testing.T) {
	for text, want := range map[string]int{
		"MemTotal:       24689152 kB\nMemFree: 1 kB\n": 300,
		"MemTotal:        8052000 kB\n":                300,
		"MemTotal:        4026000 kB\n":                200,
		"MemTotal:        2013000 kB\n":                100,
		"MemTotal: much\n":                             100,
		"MemTotal:\n":                                  100,
		"":                                             100,
	} {
		if got := collectorPercent(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
