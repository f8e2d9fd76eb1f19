package manager

import (
	"runtime/debug"

	"github.com/farrier-dev/farrier/internal/host/cgroup"
)

// gcPercent trades processor time, of which an idle fleet needs next to none, for memory: the heap may grow by half
// of what is live, and not to twice as much, before it is collected.
const gcPercent = 50

// memory is what the garbage collector is told; zero: nothing, because somebody else has.
type memory struct {
	gcPercent int
	limit     int64
}

// tuneMemory tells the garbage collector how much memory there is, unless whoever started us has (GOGC, GOMEMLIMIT).
func tuneMemory(lookup func(string) (string, bool), read func(string) ([]byte, error)) (memory, error) {
	m, err := decideMemory(lookup, read)
	if err != nil {
		return memory{}, err
	}
	if m.gcPercent > 0 {
		debug.SetGCPercent(m.gcPercent)
	}
	if m.limit > 0 {
		debug.SetMemoryLimit(m.limit)
	}
	return m, nil
}

func decideMemory(lookup func(string) (string, bool), read func(string) ([]byte, error)) (memory, error) {
	_, percentSet := lookup("GOGC")
	_, limitSet := lookup("GOMEMLIMIT")
	if percentSet || limitSet {
		return memory{}, nil
	}
	limit, err := cgroup.Memory(read)
	if err != nil {
		return memory{}, err
	}
	return memory{gcPercent: gcPercent, limit: limit}, nil
}
