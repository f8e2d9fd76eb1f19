package program

import (
	"testing"
	"time"
)

func TestWhatTheKernelSays(t *testing.T) {
	const stat = "4711 (a) name) S 1 4711 4711 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 9 0 1 2 3"
	if got, err := cpuTime(stat); err != nil || got != 3*time.Second {
		t.Errorf("processor time %v, %v", got, err)
	}
	for _, broken := range []string{"", "1 (x) S 1", "no parentheses 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"} {
		if _, err := cpuTime(broken); err == nil {
			t.Errorf("%q was read", broken)
		}
	}
	const status = "Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t1024 kB\n"
	if rss, peak := kib(status, "VmRSS:"), kib(status, "VmHWM:"); rss != 1<<20 || peak != 2<<20 {
		t.Errorf("memory %d, at most %d", rss, peak)
	}
}
