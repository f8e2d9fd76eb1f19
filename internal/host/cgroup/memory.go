package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryMax is the file of the limit as it is seen from inside: a number of bytes, or "max".
const memoryMax = "/sys/fs/cgroup/memory.max"

// headroom is the part of the limit that is left to what the garbage collector does not see, such as stacks of threads and
// the page cache, in percent.
const headroom = 10

// Memory is how much of the memory that this process may have is for its heap, in bytes; zero: no limit is known. read is os.ReadFile.
func Memory(read func(string) ([]byte, error)) (int64, error) {
	text, err := read(memoryMax)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("limit of memory: %w", err)
	}
	// What is no number is "max", or something that a kernel to come says; both mean that no limit is known.
	bytes, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || bytes <= 0 {
		return 0, nil
	}
	return bytes / 100 * (100 - headroom), nil
}

// LimitHeap has the garbage collector stay below Memory, unless GOMEMLIMIT says something else, and returns that limit in bytes; zero: none was set.
// lookup is os.LookupEnv, read os.ReadFile.
func LimitHeap(lookup func(string) (string, bool), read func(string) ([]byte, error)) (int64, error) {
	if _, set := lookup("GOMEMLIMIT"); set {
		return 0, nil
	}
	limit, err := Memory(read)
	if err == nil && limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	return limit, err
}
