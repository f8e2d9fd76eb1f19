package acceptance

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

// refusal is how long a start that cannot succeed may take to say so.
const refusal = 30 * time.Second

// refused starts a control plane that must not come up, and returns what it said.
func refused(t *testing.T, flags ...string) string {
	t.Helper()
	process := testapi.Launch(t, flags...)
	if err := process.Wait(refusal); err == nil {
		t.Fatal("the start succeeded")
	}
	output := process.Output()
	if lines := strings.Count(output, "\n"); lines > 0 {
		t.Errorf("refused in %d lines, want one:\n%s", lines+1, output)
	}
	return output
}

func wantAll(t *testing.T, output string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(output, part) {
			t.Errorf("the message does not name %q:\n%s", part, output)
		}
	}
}

func TestSecondInstanceIsToldWhoHoldsTheDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first := testapi.Launch(t, "--data-dir", dir).MustBeReady(t)
	wantAll(t, refused(t, "--data-dir", dir), dir, "--data-dir", fmt.Sprintf("pid %d", first.PID()))

	// Killed, it holds nothing any more.
	first.Kill()
	testapi.Launch(t, "--data-dir", dir).MustBeReady(t)
}

func TestNewerDataDirectoryIsRefusedUntouched(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "version"), []byte("999\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantAll(t, refused(t, "--data-dir", dir), dir, "--data-dir", "newer", "999")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("the directory was touched: %v", entries)
	}
}

func TestUnusableDataDirectoryIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantAll(t, refused(t, "--data-dir", file), file, "--data-dir")
	below := filepath.Join(file, "data")
	wantAll(t, refused(t, "--data-dir", below), below, "--data-dir")

	t.Run("read-only", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root may write everywhere")
		}
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		wantAll(t, refused(t, "--data-dir", dir), dir, "--data-dir", "not writable")
	})
}

func TestTakenAddressIsNamed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dir := filepath.Join(t.TempDir(), "data")
	wantAll(t, refused(t, "--data-dir", dir, "--api-address", listener.Addr().String()), listener.Addr().String(), "--api-address", "taken")

	// Nothing is left behind that would stop the next start.
	testapi.Launch(t, "--data-dir", dir).MustBeReady(t)
}

func TestBrokenEncryptionKeyIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "encryption.yaml")
	if err := os.WriteFile(path, []byte("no configuration"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantAll(t, refused(t, "--data-dir", dir), path)
}

// TestInterruptedStartEnds interrupts a start at points that can be seen from outside. The API server ends the process with status 255 when one
// of its start hooks is interrupted, so those must not be.
func TestInterruptedStartEnds(t *testing.T) {
	t.Parallel()
	for _, seen := range []string{"pid", "encryption.yaml", "etcd/member/snap/db"} {
		t.Run(seen, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			process := testapi.Launch(t, "--data-dir", dir)
			eventually(t, seen+" appears", func(context.Context) (bool, error) {
				_, err := os.Stat(filepath.Join(dir, seen))
				return err == nil, nil
			})
			// Well when the start was over already, with status 1 and a reason otherwise.
			if err := process.Stop(); err != nil && !strings.Contains(err.Error(), "exit status 1: Error:") {
				t.Errorf("interrupted start: %v", err)
			}
			testapi.Launch(t, "--data-dir", dir).MustBeReady(t)
		})
	}
}
