package takeover

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// commands are those of a step of the page.
var commands = regexp.MustCompile("(?s)```sh\n(.*?)```")

// follow runs the commands of a step of docs/migration.md, where this host has kubectl.
func follow(t *testing.T, root, kubeconfig, step string) {
	t.Helper()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Logf("%q is not followed: %v", step, err)
		return
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/migration.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), ". "+step)
	block := commands.FindStringSubmatch(after)
	if !found || block == nil {
		t.Fatalf("docs/migration.md has no step %q with commands", step)
	}
	folder := t.TempDir() // where the page writes to
	definitions, err := filepath.Abs(filepath.Join(root, "config"))
	if err == nil {
		err = os.Symlink(definitions, filepath.Join(folder, "config"))
	}
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "sh", "-euc", block[1])
	command.Dir, command.Env = folder, append(os.Environ(), "KUBECONFIG="+kubeconfig)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s\n%s", step, err, block[1], output)
	}
}
