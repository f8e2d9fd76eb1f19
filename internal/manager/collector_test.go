package manager

import (
	"context"
	"slices"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	for live, want := range map[uint64]int{
		0: maxPercent, 1 << 20: maxPercent, 32 << 20: 400, 64 << 20: 200, 128 << 20: 100, 200 << 20: 64, 256 << 20: gcPercent, 1 << 30: gcPercent, 1 << 62: gcPercent,
	} {
		if got := percentFor(live); got != want {
			t.Errorf("%d MiB live: %d percent, want %d", live>>20, got, want)
		}
	}
}

func TestTuneCollector(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tick := make(chan time.Time)
	sizes := []uint64{300 << 20, 40 << 20, 41 << 20, 100 << 20, 245 << 20, 256 << 20, 500 << 20, 30 << 20}
	var told []int
	go func() {
		for range len(sizes) - 1 {
			tick <- time.Time{}
		}
		cancel()
	}()
	next := 0
	tuneCollector(ctx, tick, func() uint64 { next++; return sizes[next-1] }, func(percent int) int { told = append(told, percent); return 0 })
	if want := []int{320, 128, 52, gcPercent, maxPercent}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func TestLiveHeap(t *testing.T) {
	if live := liveHeap(); live == 1<<62 {
		t.Error("this runtime does not tell " + liveMetric)
	}
}
