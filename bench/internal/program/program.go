package program

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopTimeout is how long a program may take to end by itself.
const stopTimeout = 30 * time.Second

// Build builds a package of this module into a folder, with the flags of the Makefile, so that what is compiled already
// is not compiled again.
func Build(ctx context.Context, folder, importPath string) (string, error) {
	path := filepath.Join(folder, filepath.Base(importPath))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, importPath)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", importPath, err, out)
	}
	return path, nil
}

// Program is a running one.
type Program struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.Closer
	log    tail
	exited chan struct{} // closed at the end; err is valid then
	err    error
}

// Start starts a program. line is told of each line that it prints on standard output; the end of what it prints on
// standard error is kept for errors. It ends with ctx, and its standard input ends with this process.
func Start(ctx context.Context, path string, line func(string), args ...string) (*Program, error) {
	p := &Program{name: filepath.Base(path), cmd: exec.CommandContext(ctx, path, args...), exited: make(chan struct{})}
	p.cmd.Stderr = &p.log
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			line(lines.Text())
		}
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// Exited is closed when the program has ended; Err says how.
func (p *Program) Exited() <-chan struct{} { return p.exited }

// Err is about a program that has ended before it should have.
func (p *Program) Err() error {
	return fmt.Errorf("%s ended (%s): %s", p.name, p.cmd.ProcessState, p.log.String())
}

// Stop asks the program to end and waits for it.
func (p *Program) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.exited
		return fmt.Errorf("%s did not end within %v", p.name, stopTimeout)
	}
	if p.err != nil && !p.terminated() {
		return p.Err()
	}
	return nil
}

// terminated says that the program ended by the signal itself: it was asked to end before it had come so far as to
// listen.
func (p *Program) terminated() bool {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM
}

// Kill ends the program without asking it.
func (p *Program) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.exited
	return nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	const limit = 16 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if excess := len(t.b) - limit; excess > 0 {
		t.b = append(t.b[:0], t.b[excess:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(bytes.ToValidUTF8(t.b, nil)))
}
