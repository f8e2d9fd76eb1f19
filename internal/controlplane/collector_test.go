package controlplane

import (
	"testing"

	"github.com/farrier-dev/farrier/internal/host/collector"
)

func TestTheCollectorTakesTheMemoryThatThereIs(t *testing.T) {
	t.Parallel()
	for kilobytes, want := range map[int64]collector.Share{24689152: 300, 8052000: 300, 4026000: 200, 2013000: 100, 0: collector.Frugal} {
		if got := collectorShare(kilobytes << 10); got != want {
			t.Errorf("%d kB: %d, want %d", kilobytes, got, want)
		}
	}
}
