package testapi

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	readyTimeout = 3 * time.Minute // a limit against hanging: ten of them may start at once on two processors
	stopTimeout  = 30 * time.Second
	// outputLimit bounds what is kept of a child's standard error.
	outputLimit = 64 << 10
)

// Process is a control plane running as a child of the test.
type Process struct {
	command *exec.Cmd
	output  *tail
	ready   chan struct{}
	exited  chan struct{}
	err     error // of the process, valid once exited is closed
	// told is set once somebody told it to end, or was told of its end.
	told   atomic.Bool
	binary string
	flags  []string
	folder string // to be removed with the server; empty: it is somebody else's

	kubeconfig string // this and config are valid once ready is closed
	config     *rest.Config
}

// Launch starts a control plane of the test's own with the flags of apiserver/main.go. It is killed at the end of the test.
func Launch(t testing.TB, flags ...string) *Process {
	t.Helper()
	return launchFor(t, openBuild, flags)
}

// LaunchKubernetes starts a full kube-apiserver of the test's own with the flags of kubeapiserver/main.go. It is killed at the end of the test.
func LaunchKubernetes(t testing.TB, flags ...string) *Process {
	t.Helper()
	return launchFor(t, openFull, flags)
}

func launchFor(t testing.TB, open func() (*build, error), flags []string) *Process {
	t.Helper()
	build, err := open()
	if err != nil {
		t.Fatalf("control plane for tests: %v", err)
	}
	process, err := launch(build.binary, flags...)
	if err != nil {
		t.Fatalf("control plane for tests: %v", err)
	}
	t.Cleanup(func() { process.finish(t) })
	return process
}

func launch(binary string, flags ...string) (*Process, error) {
	p := &Process{
		command: exec.Command(binary, flags...),
		output:  &tail{},
		ready:   make(chan struct{}),
		exited:  make(chan struct{}),
		binary:  binary,
		flags:   flags,
	}
	p.command.Stderr = p.output
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// Nothing is ever written: the pipe ends when this process does, and with it the child.
	if _, err := p.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go p.watch(stdout)
	return p, nil
}

func (p *Process) watch(stdout io.Reader) {
	defer close(p.exited)
	lines := bufio.NewScanner(stdout)
	var unusable error
	for lines.Scan() {
		if line, found := strings.CutPrefix(lines.Text(), "ready "); found && p.config == nil {
			if unusable = p.connect(line); unusable != nil {
				_ = p.command.Process.Kill()
				break
			}
			close(p.ready)
		}
	}
	p.err = errors.Join(unusable, p.command.Wait())
}

// connect reads "<url> <kubeconfig>".
func (p *Process) connect(line string) error {
	_, kubeconfig, found := strings.Cut(line, " ")
	if !found {
		return fmt.Errorf("unexpected ready line %q", line)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	p.kubeconfig, p.config = kubeconfig, config
	return nil
}

// WaitReady returns when the API answers.
func (p *Process) WaitReady() error {
	select {
	case <-p.ready:
		return nil
	case <-p.exited:
		p.told.Store(true)
		return fmt.Errorf("ended before it was ready: %w: %s", p.err, p.Output())
	case <-time.After(readyTimeout):
		p.Kill()
		return fmt.Errorf("not ready within %s: %s", readyTimeout, p.Output())
	}
}

// MustBeReady is WaitReady for a test that goes no further without.
func (p *Process) MustBeReady(t testing.TB) *Process {
	t.Helper()
	if err := p.WaitReady(); err != nil {
		t.Fatalf("control plane: %v", err)
	}
	return p
}

// RESTConfig connects as administrator, once the process is ready.
func (p *Process) RESTConfig() *rest.Config { return rest.CopyConfig(p.config) }

// Kubeconfig is the path of the administrator's kubeconfig, once the process is ready.
func (p *Process) Kubeconfig() string { return p.kubeconfig }

// PID of the process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Output is the end of what the process wrote to standard error.
func (p *Process) Output() string { return p.output.String() }

// finish is Kill at the end of a test. Nothing is left of the server, as the store of each has more than a hundred megabytes, and the tests of a package
// have dozens. The test fails if the server ended before by itself: what it saw of that is only that nobody answers.
func (p *Process) finish(t testing.TB) {
	t.Helper()
	p.runs(t)
	p.Kill()
	if err := os.RemoveAll(p.folder); err != nil {
		t.Error(err)
	}
}

// runs fails a test whose control plane has ended and nobody told it to.
func (p *Process) runs(t testing.TB) {
	t.Helper()
	if p.ended() && !p.told.Swap(true) {
		t.Errorf("the control plane of this test ended by itself: %v: %s", p.err, p.Output())
	}
}

func (p *Process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Kill ends the process the hard way and waits until it is gone.
func (p *Process) Kill() {
	p.told.Store(true)
	_ = p.command.Process.Kill()
	<-p.exited
}

// Restart starts the server again that was killed, on the same data and at the same address, and returns when it answers.
func (p *Process) Restart(t testing.TB) *Process {
	t.Helper()
	address, found := strings.CutPrefix(p.config.Host, "https://")
	if !found {
		t.Fatalf("control plane for tests: no address in %q", p.config.Host)
	}
	again, err := launch(p.binary, append(slices.Clone(p.flags), "--api-address", address)...)
	if err != nil {
		t.Fatalf("control plane for tests: %v", err)
	}
	t.Cleanup(func() { again.finish(t) })
	return again.MustBeReady(t)
}

// Stop ends the process in an orderly way.
func (p *Process) Stop() error {
	p.told.Store(true)
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.Wait(stopTimeout)
}

// Wait returns when the process has ended, with an error unless it ended well.
func (p *Process) Wait(limit time.Duration) error {
	p.told.Store(true)
	select {
	case <-p.exited:
	case <-time.After(limit):
		p.Kill()
		return fmt.Errorf("still running after %s: %s", limit, p.Output())
	}
	if p.err != nil {
		return fmt.Errorf("%w: %s", p.err, p.Output())
	}
	return nil
}

// tail keeps the last outputLimit bytes written to it.
type tail struct {
	mu      sync.Mutex
	content []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.content = append(t.content, b...)
	if excess := len(t.content) - outputLimit; excess > 0 {
		t.content = append(t.content[:0], t.content[excess:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.content))
}
