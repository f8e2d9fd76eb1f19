package farrier

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// patience is a limit against hanging, not a measurement.
	patience = 5 * time.Minute
	// pause is between two looks.
	pause = 50 * time.Millisecond
	// binary is the variable that names the farrier which is tested.
	binary = "FARRIER_TEST_BINARY"
)

// Farrier is a `farrier up` that runs.
type Farrier struct {
	Kubeconfig string // a file
	Image      string // boots on the simulated machines
}

// Up starts a Farrier with as many simulated machines, and ends it with the test.
func Up(t *testing.T, machines int) *Farrier {
	t.Helper()
	return run(t, "--registry-address", "127.0.0.1:0", "--sim-address", "127.0.0.1:0", "--sim", strconv.Itoa(machines))
}

// Empty starts a Farrier that knows the make of BMCs from a file, and has no machines.
func Empty(t *testing.T, prefixes string) *Farrier {
	t.Helper()
	return run(t, "--mac-prefixes-file", prefixes)
}

func run(t *testing.T, args ...string) *Farrier {
	t.Helper()
	args = append([]string{"up", "--data-dir", t.TempDir(), "--api-address", "127.0.0.1:0", "--boot-address", "127.0.0.1:0",
		"--bmc-fast-poll", "100ms", "--discovery-root", "none", "-o", "json"}, args...)
	values := Ready(t, "farrier up", args...)
	if values["kubeconfig"] == "" {
		t.Fatalf("farrier up tells no kubeconfig: %v", values)
	}
	return &Farrier{Kubeconfig: values["kubeconfig"], Image: values["registry"] + "/farrier/sample:latest"}
}

// Ready starts a command of farrier, and returns what its line says in which it tells that it is ready.
func Ready(t *testing.T, name string, args ...string) map[string]string {
	t.Helper()
	values := map[string]string{}
	said := ready(t, name, binary, args...)
	var object map[string]any
	if json.Unmarshal([]byte(said), &object) == nil {
		for key, value := range object {
			values[key] = fmt.Sprint(value)
		}
		return values
	}
	for _, field := range strings.Fields(said) {
		key, value, _ := strings.Cut(field, "=")
		values[key] = value
	}
	return values
}

// ready starts the program that a variable names, and returns what it says after "ready", or as an object.
func ready(t *testing.T, name, variable string, args ...string) string {
	t.Helper()
	said := make(chan string, 1)
	p := start(t, name, syscall.SIGTERM, func(line string) {
		if fields, ok := strings.CutPrefix(line, "ready "); ok {
			said <- fields
		} else if strings.HasPrefix(line, "{") { // farrier up -o json
			said <- line
		}
	}, program(t, variable), args...)
	select {
	case fields := <-said:
		return fields
	case <-p.exited:
		t.Fatalf("%s has ended", name)
	case <-time.After(patience):
		t.Fatalf("%s is not ready", name)
	}
	return ""
}

func program(t *testing.T, variable string) string {
	t.Helper()
	file := os.Getenv(variable)
	if file == "" {
		t.Fatalf("%s names no program: run these tests with make clients", variable)
	}
	return file
}

// Process is a program that runs, and ends with the test.
type Process struct {
	name    string
	command *exec.Cmd
	signal  syscall.Signal
	exited  chan struct{} // closed at its end
}

// Stop ends the program, if it still runs.
func (p *Process) Stop(t *testing.T) {
	t.Helper()
	_ = p.command.Process.Signal(p.signal) // it may have ended
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Errorf("%s does not end", p.name)
		_ = p.command.Process.Kill()
		<-p.exited
	}
}

// Start runs the program of a client, and kills it with the test: machine-controller does not end when it is asked to.
func Start(t *testing.T, name, program string, args ...string) *Process {
	t.Helper()
	return start(t, name, syscall.SIGKILL, func(string) {}, program, args...)
}

// start runs a program that a signal ends. line is told of each line that it prints. All lines are shown if the test fails.
func start(t *testing.T, name string, signal syscall.Signal, line func(string), program string, args ...string) *Process {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...) // it is stopped in order, after the test
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if _, err := command.StdinPipe(); err != nil { // it stays open until the end: some programs end with their input
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	p := &Process{name: name, command: command, signal: signal, exited: make(chan struct{})}
	var printed strings.Builder
	go func() {
		defer close(p.exited)
		for lines := bufio.NewReader(output); ; {
			text, err := lines.ReadString('\n')
			printed.WriteString(text)
			if err != nil {
				break
			}
			line(strings.TrimSuffix(text, "\n"))
		}
		_ = command.Wait() // how it ended matters to nobody: the tests judge what it did
	}()
	t.Cleanup(func() {
		p.Stop(t)
		if t.Failed() {
			t.Logf("%s printed:\n%s", name, printed.String())
		}
	})
	return p
}

// Eventually looks until a check returns nil, and fails the test with its last error otherwise.
func Eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		err := check(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}
