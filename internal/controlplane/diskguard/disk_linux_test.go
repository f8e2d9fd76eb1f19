package diskguard

import (
	"os"
	"syscall"
	"testing"
	"time"
)

var testTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// onDisk is how much of the disk a file has.
func onDisk(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}
