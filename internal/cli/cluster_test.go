package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/farrier-dev/farrier/test/loopback"
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

// TestWhichKubeconfigIsFound: that of `farrier up` before kubectl's, except where kubectl calls.
func TestWhichKubeconfigIsFound(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own, system, kubectl, none := file("own"), file("system"), file("kubectl"), filepath.Join(dir, "none")
	for _, c := range []struct {
		plugin                     bool
		own, system, kubectl, want string
	}{
		{false, own, system, kubectl, own},
		{false, none, system, kubectl, system},
		{false, none, none, kubectl, kubectl},
		{true, own, system, kubectl, kubectl},
		{true, own, system, none, own},
		{true, none, system, none, system},
		{false, none, none, none, none},
	} {
		if got := firstKubeconfig(c.plugin, c.own, c.system, c.kubectl); got != c.want {
			t.Errorf("plugin %v, %s, %s, %s: %s, want %s", c.plugin, c.own, c.system, c.kubectl, got, c.want)
		}
	}
}

// asSomebody runs a command line as somebody does who names no kubeconfig: the data directory is in the given folder.
func asSomebody(t *testing.T, dir, fromEnvironment string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Setenv("KUBECONFIG", fromEnvironment)
	t.Setenv("HOME", dir)
	t.Setenv("XDG_DATA_HOME", dir)
	var out, errOut bytes.Buffer
	code = Main(args, &out, &errOut)
	return out.String(), errOut.String(), code
}

// kubeconfigOf writes a kubeconfig whose cluster, user and context have one name.
func kubeconfigOf(t *testing.T, name, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: %[1]s, contexts: [{name: %[1]s, context: {cluster: %[1]s}}], clusters: [{name: %[1]s, cluster: {server: %[2]q}}]}", name, url)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAnAPIThatDoesNotAnswer: each command says it in one line, and of Farrier's own API what to do.
func TestAnAPIThatDoesNotAnswer(t *testing.T) {
	url := "https://" + loopback.Free(t)
	for _, command := range [][]string{{"timeline", "node-1"}, {"unknown"}, {"boot-servers"}, {"explain", "node-1"}, {"render", "-l", "serial=1"}, {"status"}} {
		for name, want := range map[string]string{
			"farrier": "farrier: Farrier at " + url + " does not answer (connection refused); is `farrier up` running?\n",
			"other":   "farrier: the Kubernetes API at " + url + " does not answer (connection refused)\n",
		} {
			stdout, stderr, code := asSomebody(t, t.TempDir(), kubeconfigOf(t, name, url), command...)
			if code != 1 || stdout != "" || stderr != want {
				t.Errorf("%v: exit code %d, prints %q and says\n%swant\n%s", command, code, stdout, stderr, want)
			}
		}
	}
}

// TestNoKubeconfig: who has none is told how to get one, and who names one that is not there, which.
func TestNoKubeconfig(t *testing.T) {
	if _, err := os.Stat(filepath.Join(systemDataDir, "kubeconfig")); err == nil || os.Geteuid() == 0 && os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		t.Skip("this machine has a Kubernetes API")
	}
	if _, err := os.Stat(clientcmd.RecommendedHomeFile); err == nil {
		t.Skip("this user has a Kubernetes API")
	}
	dir := t.TempDir()
	if _, stderr, code := asSomebody(t, dir, "", "timeline", "node-1"); code != 1 || !strings.Contains(stderr, "farrier up") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	none := filepath.Join(dir, "none")
	if _, stderr, code := asSomebody(t, dir, none, "timeline", "node-1"); code != 1 || stderr != "farrier: --kubeconfig: $KUBECONFIG names "+none+", which does not exist\n" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestTheNameThatKubectlCompletesBy turns the words of a command line into a request for completions.
func TestTheNameThatKubectlCompletesBy(t *testing.T) {
	if got := named("/usr/bin/kubectl_complete-farrier", []string{"po"}); !slices.Equal(got, []string{"__complete", "po"}) {
		t.Errorf("completes by %q", got)
	}
	for _, program := range []string{"farrier", "/usr/bin/kubectl-farrier"} {
		if got := named(program, []string{"status"}); !slices.Equal(got, []string{"status"}) {
			t.Errorf("%s is called with %q", program, got)
		}
	}
}
