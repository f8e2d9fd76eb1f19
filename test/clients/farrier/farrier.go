package farrier

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
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
	program := os.Getenv(binary)
	if program == "" {
		t.Fatalf("%s names no farrier: run these tests with make clients", binary)
	}
	ready := make(chan string, 1)
	p := Start(t, "farrier up", func(line string) {
		if fields, ok := strings.CutPrefix(line, "ready "); ok {
			ready <- fields
		}
	}, program, "up", "--data-dir", t.TempDir(), "--api-address", "127.0.0.1:0", "--boot-address", "127.0.0.1:0",
		"--registry-address", "127.0.0.1:0", "--sim-address", "127.0.0.1:0", "--sim", fmt.Sprint(machines),
		"--bmc-fast-poll", "100ms", "--discovery-root", "none")
	select {
	case line := <-ready:
		return read(t, line)
	case <-p.exited:
		t.Fatal("farrier up has ended")
	case <-time.After(patience):
		t.Fatal("farrier up is not ready")
	}
	return nil
}

// read takes what the line says in which Farrier tells that it is ready.
func read(t *testing.T, line string) *Farrier {
	t.Helper()
	values := map[string]string{}
	for _, field := range strings.Fields(line) {
		key, value, _ := strings.Cut(field, "=")
		values[key] = value
	}
	if values["kubeconfig"] == "" || values["registry"] == "" {
		t.Fatalf("farrier up says neither kubeconfig nor registry: %s", line)
	}
	return &Farrier{Kubeconfig: values["kubeconfig"], Image: values["registry"] + "/farrier/sample:latest"}
}

// Process is a program that runs, and ends with the test.
type Process struct {
	exited chan struct{} // closed at its end
}

// Start runs a program. line, if there is one, is told of each line that it prints. All lines are shown if the test fails.
func Start(t *testing.T, name string, line func(string), program string, args ...string) *Process {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...) // it is stopped in order, after the test
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	p := &Process{exited: make(chan struct{})}
	var printed strings.Builder
	go func() {
		defer close(p.exited)
		for lines := bufio.NewReader(output); ; {
			text, err := lines.ReadString('\n')
			printed.WriteString(text)
			if line != nil && err == nil {
				line(strings.TrimSuffix(text, "\n"))
			}
			if err != nil {
				break
			}
		}
		_ = command.Wait() // how it ended matters to nobody: the tests judge what it did
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-p.exited:
		case <-time.After(patience):
			t.Errorf("%s does not end", name)
			_ = command.Process.Kill()
			<-p.exited
		}
		if t.Failed() {
			t.Logf("%s printed:\n%s", name, printed.String())
		}
	})
	return p
}

// Build compiles a program of a module that the calling module requires, with the flags of the Makefile.
func Build(t *testing.T, program string) string {
	t.Helper()
	file := t.TempDir() + "/program"
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", file, program)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", program, err, output)
	}
	return file
}

// Module is the folder of a module that the calling module requires.
func Module(t *testing.T, path string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", path, err)
	}
	return strings.TrimSpace(string(output))
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
