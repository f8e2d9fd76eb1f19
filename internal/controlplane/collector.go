package controlplane

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

const memoryInfo = "/proc/meminfo"

// TuneCollector lets a process that is mostly an API server collect its garbage less often than Go does by default, where there
// is memory for it: of what a write costs a quarter is collecting. Whoever sets GOGC or GOMEMLIMIT has decided
// otherwise.
func TuneCollector() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	text, err := os.ReadFile(memoryInfo)
	if err != nil {
		return // a system that does not tell
	}
	debug.SetGCPercent(collectorPercent(string(text)))
}

// collectorPercent is how much the heap may grow beyond what is live, in percent of it. An API server of 10,000 servers has
// some 400 MB that live.
func collectorPercent(memoryInfo string) int {
	const gib = 1 << 20 // in kB, which the file counts in
	for line := range strings.Lines(memoryInfo) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "MemTotal:" {
			continue
		}
		switch total, _ := strconv.ParseInt(fields[1], 10, 64); {
		case total >= 7*gib: // sold as 8 GiB
			return 300
		case total >= 3*gib:
			return 200
		}
	}
	return 100
}
