package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/farrier-dev/farrier/internal/host/cgroup"
	"github.com/farrier-dev/farrier/internal/host/meminfo"
)

// Share is how much garbage may gather in a process that is busy, in percent of what is live.
type Share int

// Frugal is the share of a process that is quiet, a third: that much garbage comes seldom then, and nobody wants to have the memory for it.
const Frugal Share = 33

const (
	// least is how much garbage may always gather, in bytes. Collecting more often costs a small process a fifth of its processor
	// time and saves no memory that matters.
	least = 64 << 20
	// small is the live heap, in bytes, up to which that is all in a busy process too: about what an API server has that stores nothing. What
	// it starts with would otherwise lie scattered in memory that is never given back.
	small = 96 << 20
	// most is what Go is told of a very small heap, in percent.
	most = 400
	// step is the change, in percentage points, from which Go is told: that stops all goroutines for a moment.
	step = 10

	liveMetric      = "/gc/heap/live:bytes"
	allocatedMetric = "/gc/heap/allocs:bytes"
)

// Settings are what was decided for this process. The zero value: nothing, because GOGC or GOMEMLIMIT is set.
type Settings struct {
	Share Share
	// Memory is how much memory the process may use, in bytes: what the host has, or the limit of its control group if that is lower. Zero: unknown.
	Memory int64
	// Limit is the limit of the heap, in bytes; zero: none is known.
	Limit int64
}

// Tune has the garbage of this process collected by the rule of this package from now on, and within the limit of its control group, unless
// GOGC or GOMEMLIMIT is set. share is told Settings.Memory. lookup is os.LookupEnv, read os.ReadFile.
func Tune(share func(memory int64) Share, lookup func(string) (string, bool), read func(string) ([]byte, error)) (Settings, error) {
	s, err := decide(share, lookup, read)
	if err != nil || s == (Settings{}) {
		return s, err
	}
	if s.Limit > 0 {
		debug.SetMemoryLimit(s.Limit)
	}
	follow(&rule{
		share: s.Share, memory: uint64(max(s.Memory, 0)), live: liveHeap, allocated: allocated, now: time.Now,
		set: func(percent int) { debug.SetGCPercent(percent) }, giveBack: debug.FreeOSMemory,
		later: func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop },
	})
	return s, nil
}

func decide(share func(memory int64) Share, lookup func(string) (string, bool), read func(string) ([]byte, error)) (Settings, error) {
	_, percentSet := lookup("GOGC")
	_, limitSet := lookup("GOMEMLIMIT")
	if percentSet || limitSet {
		return Settings{}, nil
	}
	limit, err := cgroup.Memory(read)
	if err != nil {
		return Settings{}, err
	}
	text, _ := read(meminfo.Path) // nothing, of a system that does not tell
	memory := meminfo.Total(string(text))
	if limit > 0 && (memory == 0 || limit < memory) {
		memory = limit
	}
	return Settings{Share: share(memory), Memory: memory, Limit: limit}, nil
}

// follow applies a rule now and at the end of each collection.
func follow(r *rule) {
	r.collected()
	// Nothing refers to the sentinel, so the next collection finds it, and then this cleanup runs. It has a pointer, for the runtime
	// allocates small objects without pointers together, and then keeps them together.
	type sentinel struct{ _ *rule }
	runtime.AddCleanup(&sentinel{}, follow, r)
}

// liveHeap is the number of bytes that were live after the last collection.
func liveHeap() uint64 {
	if live, known := sampled(liveMetric); known {
		return live
	}
	return 1 << 40 // unknown to this runtime: the share decides
}

// allocated is the number of bytes that this process has allocated since its start.
func allocated() uint64 {
	bytes, _ := sampled(allocatedMetric)
	return bytes
}

func sampled(metric string) (value uint64, known bool) {
	sample := []metrics.Sample{{Name: metric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0, false
	}
	return sample[0].Value.Uint64(), true
}
