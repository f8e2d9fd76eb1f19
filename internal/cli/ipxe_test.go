package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/test/golden"
)

// TestIPXECommands runs what people run before they apply anything; each file holds the command line's answer.
func TestIPXECommands(t *testing.T) {
	const site = "testdata/ipxe/site.yaml"
	for name, tc := range map[string]struct {
		args []string
		code int
	}{
		"explain":             {[]string{"explain", "-f", site, "-l", "uuid=6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0002", "-l", "arch=x86_64", "-l", "manufacturer=Emulated"}, 0},
		"explain-json":        {[]string{"explain", "-f", site, "-o", "json", "-l", "cpuarch=x86_64", "-l", "buildarch=i386", "-l", "manufacturer=Simulated"}, 0},
		"explain-server":      {[]string{"explain", "-f", site, "node-2"}, 0},
		"explain-broken":      {[]string{"explain", "-f", site, "-l", "serial=LOST"}, 0},
		"explain-template":    {[]string{"explain", "-f", "testdata/ipxe/bad.yaml", "-l", "serial=1"}, 0},
		"explain-nobody":      {[]string{"explain", "-f", site, "-l", "buildarch=arm64"}, 0},
		"explain-no-server":   {[]string{"explain", "-f", site, "node-9"}, 1},
		"explain-no-question": {[]string{"explain", "-f", site}, 2},
		"explain-bad-label":   {[]string{"explain", "-f", site, "-l", "uuid"}, 2},
		"explain-twice":       {[]string{"explain", "-f", site, "-l", "serial=a", "-l", "serialNumber=b"}, 2},
		"explain-output":      {[]string{"explain", "-f", site, "-l", "serial=a", "-o", "xml"}, 2},
		"render":              {[]string{"render", "-f", site, "-l", "buildarch=x86_64", "-l", "serial=S 1; reboot", "-l", "asset=A"}, 1},
		"render-json":         {[]string{"render", "-f", site, "-l", "uuid=6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0002", "-o", "json"}, 1},
		"render-bad-template": {[]string{"render", "-f", "testdata/ipxe/bad.yaml", "-l", "serial=1"}, 1},
		"render-nobody":       {[]string{"render", "-f", site, "-l", "buildarch=arm64"}, 1},
		"render-no-file":      {[]string{"render", "-f", "testdata/nothing.yaml", "-l", "buildarch=arm64"}, 1},
		"import-matchbox":     {[]string{"import", "matchbox", "../ipxeapi/importer/testdata/matchbox", "--strict"}, 1},
		"import-manifests":    {[]string{"import", "manifests", "../ipxeapi/importer/testdata/manifests/later.yaml", "-n", "site"}, 0},
		"import-nothing":      {[]string{"import", "matchbox", "testdata"}, 1},
		"import-assets-url":   {[]string{"import", "matchbox", "testdata", "--assets-url", "files"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := Main(tc.args, &stdout, &stderr)
			got := fmt.Sprintf("$ farrier %s\n%s--- stderr\n%s", strings.Join(tc.args, " "), stdout.String(), stderr.String())
			if code != tc.code {
				t.Errorf("exit code %d, want %d\n%s", code, tc.code, got)
			}
			golden.Equal(t, filepath.Join("testdata", "ipxe", name+".golden"), got)
		})
	}
}

// What the documentation shows is what works.
func TestDocumentedManifests(t *testing.T) {
	page, err := os.ReadFile("../../docs/ipxe-api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	manifests, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/ipxe-api.md shows no manifests")
	}
	file := filepath.Join(t.TempDir(), "site.yaml")
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"buildarch=amd64", "uuid=47C6DA67-7477-4970-AA03-84E48FF4F6AD"} {
		var stdout, stderr bytes.Buffer
		if code := Main([]string{"render", "-f", file, "-l", label}, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
			t.Errorf("%s: exit code %d: %s", label, code, stderr.String())
		}
		if !strings.Contains(stdout.String(), `{"ignition":{"version":`) || !strings.Contains(stdout.String(), "profile default/flatcar") {
			t.Errorf("%s: %s", label, stdout.String())
		}
	}
}
