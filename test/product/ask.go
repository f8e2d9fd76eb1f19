package product

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"testing"
)

// Ask runs a program that ends by itself, as one does in a terminal, and returns what it printed and its exit code.
func Ask(t *testing.T, b *Binary, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	path, err := b.file()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	var out, errOut bytes.Buffer
	command := exec.CommandContext(ctx, path, args...)
	command.Stdout, command.Stderr = &out, &errOut
	var exit *exec.ExitError
	if err := command.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatalf("%s %v: %v", b.name, args, err)
	}
	return out.String(), errOut.String(), code
}
