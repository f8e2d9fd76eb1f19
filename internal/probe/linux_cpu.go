package probe

import (
	"slices"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// processors groups the hardware threads of /proc/cpuinfo by package. Where
// there is no package id (arm64, many virtual machines) all belong to one.
func processors(cpuinfo string) []inspection.CPU {
	packages := map[int]*inspection.CPU{}
	cores := map[int]map[string]bool{}
	for block := range strings.SplitSeq(cpuinfo, "\n\n") {
		attrs := attributes(block)
		if _, ok := attrs["processor"]; !ok {
			continue
		}
		id, _ := strconv.Atoi(attrs["physical id"])
		cpu := packages[id]
		if cpu == nil {
			cpu = &inspection.CPU{
				ID:           id,
				Vendor:       first(attrs["vendor_id"], attrs["CPU implementer"]),
				Model:        first(attrs["model name"], attrs["CPU part"]),
				Capabilities: strings.Fields(first(attrs["flags"], attrs["Features"])),
			}
			packages[id], cores[id] = cpu, map[string]bool{}
		}
		cpu.TotalHardwareThreads++
		// Without a core id each thread is a core of its own.
		cores[id][first(attrs["core id"], "thread "+attrs["processor"])] = true
	}
	var out []inspection.CPU
	for id, cpu := range packages {
		cpu.TotalCores = uint32(len(cores[id]))
		out = append(out, *cpu)
	}
	slices.SortFunc(out, func(a, b inspection.CPU) int { return a.ID - b.ID })
	return out
}

func attributes(block string) map[string]string {
	attrs := map[string]string{}
	for line := range strings.Lines(block) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			attrs[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return attrs
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
