package manager

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// gcPercent trades processor time, of which an idle fleet needs next to none, for memory: the heap may grow by half
	// of what is live, and not to twice as much, before it is collected.
	gcPercent = 50
	// cgroupLimit is what the container may use (cgroup v2, memory.max): a number of bytes, or "max".
	cgroupLimit = "/sys/fs/cgroup/memory.max"
	// headroom is the part of it that is left to what the garbage collector does not see, such as stacks of threads and
	// the page cache, in percent.
	headroom = 10
)

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
	m := memory{gcPercent: gcPercent}
	text, err := read(cgroupLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return m, nil
	case err != nil:
		return memory{}, fmt.Errorf("limit of memory: %w", err)
	}
	// What is no number is "max", or something that a kernel to come says; both mean that no limit is known.
	if bytes, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bytes > 0 {
		m.limit = bytes / 100 * (100 - headroom)
	}
	return m, nil
}
