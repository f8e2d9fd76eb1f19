package product

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a program of the product that runs. It does not outlive the test process.
type Process struct {
	t       *testing.T
	name    string // for people
	command *exec.Cmd
	log     log
	exited  chan struct{} // closed at its end; err is valid then
	err     error
}

// Run starts a program under a name for people. line is told of each line on its standard output; without one, those go
// to the log with what is on standard error.
func Run(t *testing.T, b *Binary, name string, line func(string), args ...string) *Process {
	t.Helper()
	path, err := b.file()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), path, args...) // it is stopped in order, after the test
	p := &Process{t: t, name: name, command: command, exited: make(chan struct{})}
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.command.Stdout, p.command.Stderr = &p.log, &p.log
	read := func() {}
	if line != nil {
		p.command.Stdout = nil
		stdout, err := p.command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		read = func() {
			for lines := bufio.NewScanner(stdout); lines.Scan(); {
				line(lines.Text())
			}
			_, _ = io.Copy(io.Discard, stdout)
		}
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		read()
		p.err = p.command.Wait()
		close(p.exited)
	}()
	return p
}

// PID is the process's number.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Log is what the process has printed for people so far.
func (p *Process) Log() string { return p.log.String() }

// Kill ends the process as a power cut would.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	<-p.exited
}

// Stop ends the process as its user or a cluster would, and returns how it ended.
func (p *Process) Stop() error {
	p.t.Helper()
	if err := p.terminate(); err != nil {
		p.t.Errorf("%s: SIGTERM: %v", p.name, err)
	}
	return p.Wait()
}

func (p *Process) terminate() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// end is Stop after the tests: what would fail a test is returned.
func (p *Process) end() error {
	if err := p.terminate(); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return p.err
	case <-time.After(Patience):
		p.dump()
		return errors.New("it did not end; it printed:\n" + p.Log())
	}
}

// dump kills the process after it has printed what all its goroutines wait for.
func (p *Process) dump() {
	_ = p.command.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		p.Kill()
	}
}

// Wait returns how the process ended. One that does not end in time is killed, its log has what it waited for, and the test fails.
func (p *Process) Wait() error {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.err
	case <-time.After(Patience):
		p.dump()
		p.t.Errorf("%s did not end", p.name)
		return p.err
	}
}

// ShowIfFailed prints the log of the process when the test has failed.
func (p *Process) ShowIfFailed() {
	if p.t.Failed() {
		p.t.Logf("%s printed:\n%s", p.name, p.Log())
	}
}

// log is what a process prints, readable while it runs.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
