package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// frame is the terminal from one moment on.
type frame struct {
	at   time.Duration
	rows []string // each as the text elements of a line, for it is drawn again and again
}

// record runs a command in a terminal until it ends, and returns what was to be seen.
func record(ctx context.Context, columns, rows int, pace time.Duration, command []string) ([]frame, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		return nil, err
	}
	defer master.Close()
	terminal := vt10x.New(vt10x.WithSize(columns, rows))
	begun, read := time.Now(), make(chan error, 1)
	go func() {
		_, err := io.Copy(visible{terminal}, master)
		read <- err
	}()
	var frames []frame
	look := time.NewTicker(pace)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			frames = seen(frames, terminal, time.Since(begun))
		case err := <-read:
			if err := errors.Join(ended(err), cmd.Wait()); err != nil {
				return nil, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
			}
			return seen(frames, terminal, time.Since(begun)), nil
		}
	}
}

// ended is nil for how reading ends where the command has closed its terminal.
func ended(err error) error {
	if errors.Is(err, syscall.EIO) {
		return nil
	}
	return err
}

// visible has faint text in a darker colour, for the terminal does not know faint.
type visible struct{ io.Writer }

func (v visible) Write(p []byte) (int, error) {
	_, err := io.WriteString(v.Writer, strings.ReplaceAll(string(p), "\x1b[2m", "\x1b[90m"))
	return len(p), err
}

// seen adds what the terminal shows, where that has changed.
func seen(frames []frame, terminal vt10x.Terminal, at time.Duration) []frame {
	terminal.Lock()
	defer terminal.Unlock()
	columns, height := terminal.Size()
	var rows []string
	for y := range height {
		rows = append(rows, row(columns, func(x int) vt10x.Glyph { return terminal.Cell(x, y) }))
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	if n := len(frames); n > 0 && slices.Equal(frames[n-1].rows, rows) {
		return frames
	}
	return append(frames, frame{at, rows})
}
