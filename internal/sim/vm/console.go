package vm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
)

// maxConsole is how long the file of a serial console becomes; what was before it is in another of that length.
const maxConsole = 4 << 20

// console is the file of a serial console. A guest may print as much as it likes.
type console struct {
	path string
	file *os.File
	size int64
	err  error // what a write met, the first time
}

func openConsole(path string) (*console, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &console{path: path, file: file, size: info.Size()}, nil
}

// Write never fails: a full disk must not stop a machine.
func (c *console) Write(p []byte) (int, error) {
	if c.size+int64(len(p)) > maxConsole && c.size > 0 {
		if err := c.turn(); err != nil {
			c.err = errors.Join(c.err, err)
			return len(p), nil
		}
	}
	n, err := c.file.Write(p)
	c.size += int64(n)
	if err != nil && c.err == nil {
		c.err = err
	}
	return len(p), nil
}

func (c *console) turn() error {
	if err := os.Rename(c.path, c.path+".1"); err != nil {
		return err
	}
	next, err := openConsole(c.path)
	if err != nil {
		return err
	}
	_ = c.file.Close()
	c.file, c.size = next.file, next.size
	return nil
}

func (c *console) close() error {
	if err := errors.Join(c.err, c.file.Close()); err != nil {
		return fmt.Errorf("serial console: %w", err)
	}
	return nil
}

// lastLine keeps the last line of what is written.
type lastLine struct {
	mu      sync.Mutex
	pending []byte
	line    string
}

// maxLine is how much of a line is kept.
const maxLine = 512

func (l *lastLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for part := range bytes.SplitAfterSeq(p, []byte("\n")) {
		room := max(0, maxLine-len(l.pending))
		l.pending = append(l.pending, part[:min(room, len(part))]...)
		if !bytes.HasSuffix(part, []byte("\n")) {
			continue
		}
		if line := bytes.TrimSpace(l.pending); len(line) > 0 {
			l.line = string(line)
		}
		l.pending = l.pending[:0]
	}
	return len(p), nil
}

func (l *lastLine) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if line := bytes.TrimSpace(l.pending); len(line) > 0 {
		return string(line)
	}
	return l.line
}
