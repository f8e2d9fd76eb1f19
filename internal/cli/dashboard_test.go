package cli

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDashboardLink: the link is printed alone, at the operator address; what goes wrong names the flag that it has to do with.
func TestDashboardLink(t *testing.T) {
	for name, c := range map[string]struct {
		status         int
		body           string
		stdout, stderr string
	}{
		"link":         {200, `{"path":"/dashboard/enter?code=c0de","user":"ada"}`, "/dashboard/enter?code=c0de\n", ""},
		"elsewhere":    {200, `{"path":"//evil.example/","user":"ada"}`, "", "is no path of the dashboard"},
		"no dashboard": {404, "", "", "--dashboard=false"},
		"unknown":      {401, "", "", "--kubeconfig: "},
		"too many":     {429, "", "", "--operator-url: "},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || r.URL.Path != "/dashboard/link" || r.Header.Get("Authorization") != "Bearer ada-token" {
					t.Errorf("asked: %s %s %q", r.Method, r.URL, r.Header.Get("Authorization"))
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			dir := t.TempDir()
			authority, file := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "kubeconfig")
			content := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: ada}}], "+
				"clusters: [{name: c, cluster: {server: %q, certificate-authority: ca.pem}}], users: [{name: ada, user: {token: ada-token}}]}", server.URL)
			for path, text := range map[string][]byte{file: []byte(content), authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})} {
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want := 1
			if c.stdout != "" {
				want, c.stdout = 0, server.URL+c.stdout
			}
			var stdout, stderr bytes.Buffer
			code := Main([]string{"dashboard", "--kubeconfig", file, "--operator-url", server.URL + "/", "--operator-ca", authority}, &stdout, &stderr)
			if code != want || stdout.String() != c.stdout || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("exit code %d, want %d: %s%s", code, want, stdout.String(), stderr.String())
			}
		})
	}
}
