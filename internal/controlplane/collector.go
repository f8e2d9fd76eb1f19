package controlplane

import (
	"os"

	"github.com/farrier-dev/farrier/internal/host/collector"
)

// TuneCollector lets a process that is mostly an API server collect its garbage less often than others do when it looks after a large fleet, where there
// is memory for it: of what a write costs a quarter is collecting. The error says why the memory limit is not known.
func TuneCollector() error {
	_, err := collector.Tune(collectorShare, os.LookupEnv, os.ReadFile)
	return err
}

// collectorShare is for a process that may use so many bytes of memory; zero: the system does not tell. An API server of 10,000 servers has some 400 MB that
// live, and one of 100,000 has 4 GB.
func collectorShare(memory int64) collector.Share {
	const gib = 1 << 30
	switch {
	case memory == 0:
		return collector.Frugal
	case memory >= 7*gib: // sold as 8 GiB
		return 300
	case memory >= 3*gib:
		return 200
	}
	return 100
}
