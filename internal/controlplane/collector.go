package controlplane

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/host/cgroup"
)

const memoryInfo = "/proc/meminfo"

// TuneCollector lets a process that is mostly an API server collect its garbage less often than Go does by default, where there
// is memory for it: of what a write costs a quarter is collecting. Where a control group limits memory, that is what there is.
// Whoever sets GOGC or GOMEMLIMIT has decided otherwise. The error says why the limit is not known.
func TuneCollector() error {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	limit, err := cgroup.Memory(os.ReadFile)
	if err != nil {
		return err
	}
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	text, err := os.ReadFile(memoryInfo)
	if err != nil {
		return nil // a system that does not tell
	}
	debug.SetGCPercent(collectorPercent(string(text), limit))
	return nil
}

// collectorPercent is how much the heap may grow beyond what is live, in percent of it, on a host that tells that of its memory, where
// limit is how many bytes are for the heap; zero: no limit. An API server of 10,000 servers has some 400 MB that live.
func collectorPercent(memoryInfo string, limit int64) int {
	const gib = 1 << 20 // in kB, which the file counts in
	for line := range strings.Lines(memoryInfo) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "MemTotal:" {
			continue
		}
		total, _ := strconv.ParseInt(fields[1], 10, 64)
		if limit > 0 {
			total = min(total, limit>>10)
		}
		switch {
		case total >= 7*gib: // sold as 8 GiB
			return 300
		case total >= 3*gib:
			return 200
		}
	}
	return 100
}
