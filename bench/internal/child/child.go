package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// roleVariable says what a process was started as; empty for the benchmark itself.
const roleVariable = "FARRIER_BENCH_ROLE"

// Process is a running child.
type Process struct {
	role string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

// Start starts this executable once more, in a role. It ends with ctx at the latest.
func Start(ctx context.Context, role string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	return &Process{role: role, cmd: cmd, in: in, out: json.NewDecoder(bufio.NewReader(out))}, nil
}

// Ask sends a request and waits for its answer.
func (p *Process) Ask(request, answer any) error {
	if err := json.NewEncoder(p.in).Encode(request); err != nil {
		return fmt.Errorf("ask %s: %w", p.role, err)
	}
	if err := p.out.Decode(answer); err != nil {
		return fmt.Errorf("answer of %s: %w", p.role, err)
	}
	return nil
}

// Stop ends the child's input and waits for it.
func (p *Process) Stop() error {
	if err := errors.Join(p.in.Close(), p.cmd.Wait()); err != nil {
		return fmt.Errorf("stop %s: %w", p.role, err)
	}
	return nil
}

// Serve is the child's side: it answers requests until there are no more.
func Serve[Request, Answer any](answer func(Request) (Answer, error)) error {
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	for {
		var request Request
		switch err := in.Decode(&request); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("request: %w", err)
		}
		a, err := answer(request)
		if err != nil {
			return err
		}
		if err := out.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}
