package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAKubeconfigThatMayNotBeReadIsNamed needs a user to whom anything can be forbidden.
func TestAKubeconfigThatMayNotBeReadIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte("apiVersion: v1\nkind: Config\n"), 0o000); err != nil {
		t.Fatal(err)
	}
	_, err := clusterConfig(path, "")
	if err == nil {
		t.Fatal("a kubeconfig of no API is taken")
	}
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("%v, want an error that names %s", err, path)
	}
}

// TestAContextThatThereIsNot is said with the flag that names it, which is not said of where nobody gave it.
func TestAContextThatThereIsNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte("apiVersion: v1\nkind: Config\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]string{"none": "--kubeconfig, --context: ", "": "--kubeconfig: "} {
		if _, _, err := (&cluster{kubeconfig: path, context: context}).connect(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("context %q: %v, want %s…", context, err, want)
		}
	}
}
