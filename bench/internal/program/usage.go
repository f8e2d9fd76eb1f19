package program

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has used.
type Usage struct {
	CPU     time.Duration // of all its threads, kernel included
	RSS     int64         // bytes
	PeakRSS int64
}

// tick is the unit of times in /proc/<pid>/stat: USER_HZ is 100 on every architecture that Go runs on (proc(5)).
const tick = 10 * time.Millisecond

// Usage asks the kernel.
func (p *Program) Usage() (Usage, error) {
	u, err := UsageOf(p.cmd.Process.Pid)
	if err != nil {
		return u, fmt.Errorf("usage of %s: %w", p.name, err)
	}
	return u, nil
}

// UsageOf asks the kernel about any process.
func UsageOf(pid int) (u Usage, err error) {
	folder := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(folder + "stat")
	if err != nil {
		return u, err
	}
	if u.CPU, err = cpuTime(string(stat)); err != nil {
		return u, err
	}
	status, err := os.ReadFile(folder + "status")
	if err != nil {
		return u, err
	}
	u.RSS, u.PeakRSS = kib(string(status), "VmRSS:"), kib(string(status), "VmHWM:")
	return u, nil
}

// cpuTime reads fields 14 and 15 of /proc/<pid>/stat. The second field is a name in parentheses, which may hold
// anything.
func cpuTime(stat string) (time.Duration, error) {
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if end < 0 || len(fields) < 13 {
		return 0, errors.New("/proc: stat has too few fields")
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc: utime: %w", err)
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc: stime: %w", err)
	}
	return time.Duration(user+system) * tick, nil
}

// kib reads a line "name n kB" of /proc/<pid>/status in bytes.
func kib(status, name string) int64 {
	for line := range strings.Lines(status) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n << 10
		}
	}
	return 0
}
