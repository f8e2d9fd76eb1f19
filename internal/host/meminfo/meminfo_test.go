package meminfo

import "testing"

func TestTotal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"MemTotal:       24689152 kB\nMemFree: 1 kB\n": 24689152 << 10,
		"MemFree: 1 kB\nMemTotal: 2 kB\n":              2 << 10,
		"MemFree: 1 kB\n":                              0,
		"MemTotal: much\n":                             0,
		"MemTotal: -1 kB\n":                            0,
		"MemTotal: 9223372036854775807 kB\n":           0,
		"MemTotal:\n":                                  0,
		"":                                             0,
	} {
		if got := Total(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
