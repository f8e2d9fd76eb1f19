package result

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Result is one run of one benchmark.
type Result struct {
	Name    string    `json:"name"`
	Date    time.Time `json:"date"`
	Machine Machine   `json:"machine"`
	// Config and Findings are the benchmark's own.
	Config   any `json:"config"`
	Findings any `json:"findings"`
}

// Begin notes when and where a benchmark starts, and with which configuration.
func Begin(name string, config any) Result {
	return Result{Name: name, Date: time.Now().UTC().Truncate(time.Second), Machine: ThisMachine(), Config: config}
}

// Machine is where it ran.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory,omitempty"`
	Kernel string `json:"kernel,omitempty"`
	OS     string `json:"os"`
	Go     string `json:"go"`
	// Load is the load average at the start: what else was running.
	Load string `json:"loadAverage,omitempty"`
}

// ThisMachine describes the machine; what cannot be found out is left empty.
func ThisMachine() Machine {
	return Machine{
		CPU:    field("/proc/cpuinfo", "model name"),
		Cores:  runtime.NumCPU(),
		Memory: field("/proc/meminfo", "MemTotal"),
		Kernel: firstLine("/proc/sys/kernel/osrelease"),
		OS:     runtime.GOOS + "/" + runtime.GOARCH,
		Go:     runtime.Version(),
		Load:   firstLine("/proc/loadavg"),
	}
}

// Finish stores r with what was found as indented JSON in file, whose folder is made. Without a file it does nothing.
func (r Result) Finish(file string, findings any) error {
	if file == "" {
		return nil
	}
	r.Findings = findings
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("result %s: %w", r.Name, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("result %s: %w", r.Name, err)
	}
	if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("result %s: %w", r.Name, err)
	}
	return nil
}

// field returns the value of the first line "name : value" of a file of /proc.
func field(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func firstLine(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}
