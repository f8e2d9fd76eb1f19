package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/program"
)

// used is what a process has used since it started, and the memory that it has.
type used struct {
	CPU          time.Duration
	Mallocs      uint64
	RSS, PeakRSS int64
}

func usage() (u used, err error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return u, fmt.Errorf("getrusage: %w", err)
	}
	kernel, err := program.UsageOf(os.Getpid())
	if err != nil {
		return u, err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	// The kernel tells the time of a process exactly here, and in ticks elsewhere.
	return used{CPU: time.Duration(r.Utime.Nano() + r.Stime.Nano()), Mallocs: memory.Mallocs, RSS: kernel.RSS, PeakRSS: kernel.PeakRSS}, nil
}

// heap is what is alive.
func heap() int64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}
