package meminfo

import (
	"strconv"
	"strings"
)

// Path is the file, in lines of "name: number kB" (proc(5)).
const Path = "/proc/meminfo"

// Total is how much memory the host has by the text of that file, in bytes; zero: it does not tell.
func Total(text string) int64 {
	for line := range strings.Lines(text) {
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
