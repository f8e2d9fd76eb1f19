package product

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Talk is a program that somebody types to.
type Talk struct {
	In io.WriteCloser

	t       *testing.T
	command *exec.Cmd
	mu      sync.Mutex
	said    bytes.Buffer
	more    chan struct{}
	ended   chan error
}

// Write takes what the program prints, wherever to.
func (k *Talk) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.said.Write(p)
	select {
	case k.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

// TalkTo runs a program until it ends by itself, or the test does.
func TalkTo(t *testing.T, b *Binary, args ...string) *Talk {
	t.Helper()
	path, err := b.file()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	k := &Talk{t: t, command: exec.CommandContext(ctx, path, args...), more: make(chan struct{}, 1), ended: make(chan error, 1)}
	k.command.Stdout, k.command.Stderr = k, k
	if k.In, err = k.command.StdinPipe(); err == nil {
		err = k.command.Start()
	}
	if err != nil {
		cancel()
		t.Fatalf("%s %v: %v", b.name, args, err)
	}
	done := make(chan struct{})
	go func() { k.ended <- k.command.Wait(); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return k
}

// Said is what it has printed.
func (k *Talk) Said() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.said.String()
}

// Until waits until it has printed a text.
func (k *Talk) Until(want string) {
	k.t.Helper()
	for !strings.Contains(k.Said(), want) {
		select {
		case <-k.more:
		case err := <-k.ended:
			k.ended <- err
			if !strings.Contains(k.Said(), want) {
				k.t.Fatalf("it ended (%v) before it said %q: %s", err, want, k.Said())
			}
		}
	}
}

// Type types.
func (k *Talk) Type(text string) {
	k.t.Helper()
	if _, err := io.WriteString(k.In, text); err != nil {
		k.t.Fatalf("type %q: %v; it said %s", text, err, k.Said())
	}
}

// Ends waits until it has ended, and returns its exit code.
func (k *Talk) Ends() int {
	k.t.Helper()
	err := <-k.ended
	k.ended <- err
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	k.t.Fatalf("wait: %v", err)
	return -1
}
