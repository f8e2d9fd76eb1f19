package product

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory is a line of the process's status in /proc, such as VmRSS, in bytes.
func (p *Process) Memory(line string) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), line+":")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("/proc: status has no %s", line)
	}
	kib, err := strconv.Atoi(fields[0])
	return kib << 10, err
}

// Memory is a line of the product's status in /proc, such as VmRSS, in bytes.
func (p *Product) Memory(line string) (int, error) { return p.process.Memory(line) }
