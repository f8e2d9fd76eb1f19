package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnAPIThatHangs: nobody waits for it longer than was said, and it is named.
func TestAnAPIThatHangs(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: %q}}]}", server.URL)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"explain", "render"} {
		for timeout, want := range map[string]struct {
			code int
			text string
		}{"50ms": {1, server.URL}, "0s": {2, "--request-timeout"}} {
			var stdout, stderr bytes.Buffer
			code := Main([]string{command, "--kubeconfig", file, "--request-timeout", timeout, "-l", "serial=1"}, &stdout, &stderr)
			if code != want.code || !strings.Contains(stderr.String(), want.text) || stdout.Len() > 0 {
				t.Errorf("%s, %s: exit code %d\n%s%s", command, timeout, code, stdout.String(), stderr.String())
			}
		}
	}
}
