package collector

import (
	"strconv"
	"strings"
)

// memoryInfo is where Linux tells of the host's memory, in lines of "name: number kB" (proc(5)).
const memoryInfo = "/proc/meminfo"

// hostMemory is how much memory the host has, in bytes; zero: it does not tell. read is os.ReadFile.
func hostMemory(read func(string) ([]byte, error)) int64 {
	text, err := read(memoryInfo)
	if err != nil {
		return 0 // a system that does not tell
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "MemTotal:" {
			continue
		}
		kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil || kilobytes <= 0 || kilobytes > 1<<50 {
			return 0
		}
		return kilobytes << 10
	}
	return 0
}
