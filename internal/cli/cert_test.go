package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/test/golden"
)

// serials differ from run to run.
var serials = regexp.MustCompile(`"serial": "[0-9a-f]+"`)

// TestCertCommands goes through the life of certificates, in one directory. Each file holds the answers of one step.
func TestCertCommands(t *testing.T) {
	home, err := filepath.Abs(filepath.Join("testdata", "cert"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	for _, step := range []struct {
		name string
		wait time.Duration
		args []string
		code int
	}{
		{"help", 0, []string{"--help"}, 0},
		{"issue-help", 0, []string{"issue", "--help"}, 0},
		{"token-help", 0, []string{"token", "--help"}, 0},
		{"no-authority", 0, []string{"list"}, 1},
		{"init", 0, []string{"init"}, 0},
		{"init-again", 0, []string{"init"}, 1},
		{"list-none", 0, []string{"list"}, 0},
		{"issue-manager", 0, []string{"issue", "boot-stream.farrier.example", "--manager", "--days", "365"}, 0},
		{"issue", 0, []string{"issue", "Boot-1.north.example", "--site", "north"}, 0},
		{"issue-again", 0, []string{"issue", "boot-1.north.example"}, 1},
		{"issue-without-site", 0, []string{"issue", "boot-2.example", "--days", "10"}, 0},
		{"issue-wildcard", 0, []string{"issue", "*.example"}, 2},
		{"issue-path", 0, []string{"issue", "../x"}, 2},
		{"issue-days", 0, []string{"issue", "boot-3.example", "--days", "0"}, 2},
		{"issue-site", 0, []string{"issue", "boot-3.example", "--site", "a b"}, 2},
		{"issue-manager-site", 0, []string{"issue", "boot-3.example", "--site", "a", "--manager"}, 2},
		{"list", 0, []string{"list"}, 0},
		{"list-json", 0, []string{"list", "-o", "json"}, 0},
		{"list-output", 0, []string{"list", "-o", "yaml"}, 2},
		{"renew-none", 0, []string{"renew"}, 0},
		{"renew-due", 8 * day, []string{"renew"}, 0},
		{"renew-name", 0, []string{"renew", "boot-1.north.example", "--days", "30"}, 0},
		{"renew-unknown", 0, []string{"renew", "boot-9.example"}, 1},
		{"list-expired", 31 * day, []string{"list"}, 0},
		{"token-valid", 0, []string{"token", "boot-1.north.example", "--valid", "1s"}, 2},
		{"token-kubeconfig", 0, []string{"token", "boot-1.north.example", "--kubeconfig", "nothing"}, 1},
	} {
		clock.Step(step.wait)
		var stdout, stderr bytes.Buffer
		root := &cobra.Command{Use: "farrier"}
		root.AddCommand(newCert(clock))
		code := usage.Main(root, append([]string{"cert"}, step.args...), &stdout, &stderr)
		got := fmt.Sprintf("$ farrier cert %s\n%s--- stderr\n%s", strings.Join(step.args, " "), serials.ReplaceAllString(stdout.String(), `"serial": "…"`), stderr.String())
		if code != step.code {
			t.Errorf("%s: exit code %d, want %d\n%s", step.name, code, step.code, got)
		}
		golden.Equal(t, filepath.Join(home, step.name+".golden"), got)
	}
	checkCertFiles(t, clock)
}

// checkCertFiles: what was written is private where it has to be, and the boot stream takes it.
func checkCertFiles(t *testing.T, clock *clocktesting.FakeClock) {
	t.Helper()
	for file, mode := range map[string]os.FileMode{
		"ca.key": 0o600, "ca.crt": 0o644, "boot-1.north.example/tls.key": 0o600, "boot-1.north.example/tls.crt": 0o644, "boot-1.north.example": 0o700 | os.ModeDir,
	} {
		if info, err := os.Stat(filepath.Join("farrier-certificates", file)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, want %v", file, info.Mode(), mode)
		}
	}
	i, err := peer.FromFiles(peer.In("farrier-certificates/boot-1.north.example"), peer.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if names := i.Leaf().DNSNames; len(names) != 1 || names[0] != "boot-1.north.example" {
		t.Errorf("%v", names)
	}
}
