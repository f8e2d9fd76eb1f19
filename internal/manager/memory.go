package manager

import (
	"runtime/debug"

	"github.com/farrier-dev/farrier/internal/host/cgroup"
)

// gcPercent is how much the heap may grow over its live size before a collection, in percent. Half of the default saves memory
// and costs processor time, of which an idle fleet needs next to none.
const gcPercent = 50

// memory holds the settings of the garbage collector. Zero: none, because GOGC or GOMEMLIMIT is set.
type memory struct {
	gcPercent int
	limit     int64
}

// tuneMemory configures the garbage collector for the memory that this process may use, unless GOGC or GOMEMLIMIT is set.
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
