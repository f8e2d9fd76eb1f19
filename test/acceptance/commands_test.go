package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/test/product"
)

// fleet is what `farrier status -o json` prints, as far as it is looked at here.
type fleet struct {
	States  map[string]int
	Servers []struct{ Name, State, Power, Claim, Doing string }
	BMCs    struct{ Total, Answer int }
}

// TestCommandsOfTheReadme: somebody who has just started Farrier with a simulated rack types what the README shows, word by word but for the
// ports, and each command has come about when it returns.
func TestCommandsOfTheReadme(t *testing.T) {
	dir := t.TempDir()
	p := product.Start(t, filepath.Join(dir, "data"), "--sim", "3", "--sim-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0")
	t.Setenv("KUBECONFIG", p.Kubeconfig)
	t.Chdir(dir)
	p.Eventually("three servers are Available", func(context.Context) error {
		f, err := statusOf(t)
		if err == nil && (f.States[string(metalv1.ServerStateAvailable)] != 3 || f.BMCs.Answer != 3) {
			err = fmt.Errorf("%+v", f)
		}
		return err
	})
	after := map[string]func(f fleet) bool{
		"claim": func(f fleet) bool {
			s := f.Servers[0]
			return s.State == "Reserved" && s.Power == "On" && s.Claim == "default/first" && s.Doing == "got its ignition"
		},
		"power off": func(f fleet) bool { return f.Servers[0].Claim == "default/first" && f.Servers[0].Power == "Off" },
		"power on":  func(f fleet) bool { return f.Servers[0].Claim == "default/first" && f.Servers[0].Power == "On" },
		"release":   func(f fleet) bool { return f.States["Available"] == 3 && f.Servers[0].Power == "Off" },
	}
	commands := commandsOfReadme(t)
	for _, command := range commands {
		typed := strings.ReplaceAll(command, "127.0.0.1:5000", p.Registry)
		t.Logf("$ %s\n%s", typed, shell(t, typed))
		for begin, came := range after {
			if !strings.HasPrefix(command, "bin/farrier "+begin+" ") || strings.Contains(command, "--explain") {
				continue
			}
			delete(after, begin)
			if f, err := statusOf(t); err != nil || !came(f) {
				t.Errorf("after %s: %+v, %v", typed, f, err)
			}
		}
	}
	if len(after) > 0 {
		t.Errorf("the README has no %v:\n%s", after, strings.Join(commands, "\n"))
	}
	t.Run("at the prompt", func(t *testing.T) { prompts(t, p) })
}

// commandsOfReadme are those of the section in which a server is claimed, but for the start of Farrier.
func commandsOfReadme(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Claim a server yourself\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var commands []string
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok && !strings.HasPrefix(command, "bin/farrier up ") {
			commands = append(commands, command)
		}
	}
	return commands
}

// root is the directory of the project, whichever one the test works in.
func root(t *testing.T) string {
	t.Helper()
	return filepath.Dir(filepath.Dir(os.Getenv("FARRIER_TEST_BINARY")))
}

// shell types a command where bin/farrier is the product.
func shell(t *testing.T, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), product.Patience)
	defer cancel()
	typed := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(command, "bin/farrier", os.Getenv("FARRIER_TEST_BINARY")))
	out, err := typed.CombinedOutput()
	if err != nil {
		t.Errorf("$ %s\n%s%v", command, out, err)
	}
	return string(out)
}

func statusOf(t *testing.T) (f fleet, err error) {
	t.Helper()
	stdout, stderr, code := product.Ask(t, product.Farrier, "status", "-o", "json")
	if code != 0 {
		return f, errors.New(stderr)
	}
	err = json.Unmarshal([]byte(stdout), &f)
	if err == nil && len(f.Servers) == 0 {
		err = errors.New("no servers")
	}
	return f, err
}

// prompts are what people type besides: names that a shell completes, typing errors, what is refused, and a wait that is too short.
func prompts(t *testing.T, p *product.Product) {
	const node = "sim-0001-system-0"
	asks(t, "__complete park sim-0001", 0, node+"\n", "")
	asks(t, "__complete status --state A", 0, "Available\n", "")
	asks(t, "power on "+node, 1, "", "farrier claim NAME --server "+node)
	asks(t, "park sim-0001-system", 1, "", "did you mean "+node)
	asks(t, "statsu", 2, "", "did you mean \"status\"?\nSee 'farrier --help'.")
	asks(t, "claim x", 2, "", "--image")
	asks(t, "claim waits -l no=where --image a/b:c --timeout 1s", 3, "", "NoMatchingServer")
	asks(t, "wipe "+node, 1, "", "nothing was erased")
	asks(t, "cordon "+node, 0, "gets no claim any more", "")
	asks(t, "wipe --yes "+node, 1, "", "cordoned")
	asks(t, "uncordon "+node, 0, "can be claimed again", "")
	asks(t, "maintain "+node+" --power On", 0, "is in maintenance", "")
	asks(t, "power off "+node, 0, "power is Off", "")
	asks(t, "maintain --end "+node, 0, "has ended", "")
	asks(t, "park "+node, 0, "is parked", "")
	asks(t, "power on "+node, 1, "", "farrier unpark "+node)
	asks(t, "unpark "+node, 0, "is no longer parked", "")
	asks(t, "wipe --yes "+node, 0, "is clean", "")
	p.Stop()
	asks(t, "status", 1, "", "does not answer (connection refused); is `farrier up` running?\n")
}

// asks runs a command line and looks for what it says.
func asks(t *testing.T, typed string, code int, stdout, stderr string) {
	t.Helper()
	out, errOut, got := product.Ask(t, product.Farrier, strings.Fields(typed)...)
	if got != code || !strings.Contains(out, stdout) || !strings.Contains(errOut, stderr) {
		t.Errorf("farrier %s: exit code %d, want %d with %q and %q\n%s%s", typed, got, code, stdout, stderr, out, errOut)
	}
}
