package controlplane

import (
	"os"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/host/collector"
)

const memoryInfo = "/proc/meminfo"

// TuneCollector lets a process that is mostly an API server collect its garbage less often than others do when it looks after a large fleet, where there
// is memory for it: of what a write costs a quarter is collecting. The error says why the memory limit is not known.
func TuneCollector() error {
	_, err := collector.Tune(func(limit int64) collector.Share {
		text, err := os.ReadFile(memoryInfo)
		if err != nil {
			return collector.Frugal // a system that does not tell
		}
		return collectorShare(string(text), limit)
	}, os.LookupEnv, os.ReadFile)
	return err
}

// collectorShare is for a host that tells that of its memory, where limit is how many bytes are for the heap; zero: no limit. An API
// server of 10,000 servers has some 400 MB that live.
func collectorShare(memoryInfo string, limit int64) collector.Share {
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
