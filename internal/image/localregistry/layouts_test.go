package localregistry

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/farrier-dev/farrier/internal/image/layout"
)

// A folder of layouts is served to be pulled, and nothing outside it.
func TestLayouts(t *testing.T) {
	dir := t.TempDir()
	const manifest, mediaType = `{"layers":[]}`, "application/vnd.oci.image.manifest.v1+json"
	sum := digest.FromString(manifest)
	for file, content := range map[string]string{
		"os/probe/oci-layout":                              `{"imageLayoutVersion":"1.0.0"}`,
		"os/probe/index.json":                              `{"manifests":[{"mediaType":"` + mediaType + `","digest":"` + sum.String() + `","annotations":{"org.opencontainers.image.ref.name":"1"}}]}`,
		"os/probe/blobs/sha256/" + sum.Encoded():           manifest,
		"bad/oci-layout":                                   "{",
		"os/probe/blobs/sha256/" + strings.Repeat("0", 64): "a blob",
	} {
		to := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := StartLayouts(t.Context(), "127.0.0.1:0", layout.In(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	}()
	for name, c := range map[string]struct {
		method, path, ranged string
		status               int
		body, header         string
	}{
		"the version":          {"GET", "/v2/", "", 200, "", ""},
		"a tag":                {"GET", "/v2/os/probe/manifests/1", "", 200, manifest, mediaType},
		"a digest":             {"GET", "/v2/os/probe/manifests/" + sum.String(), "", 200, manifest, mediaType},
		"a size":               {"HEAD", "/v2/os/probe/manifests/1", "", 200, "", mediaType},
		"a blob":               {"GET", "/v2/os/probe/blobs/sha256:" + strings.Repeat("0", 64), "", 200, "a blob", "application/octet-stream"},
		"a part of it":         {"GET", "/v2/os/probe/blobs/sha256:" + strings.Repeat("0", 64), "bytes=2-", 206, "blob", "application/octet-stream"},
		"no such tag":          {"GET", "/v2/os/probe/manifests/2", "", 404, "has no tag", ""},
		"no such image":        {"GET", "/v2/os/other/manifests/1", "", 404, "no file os/other/oci-layout", ""},
		"no such blob":         {"GET", "/v2/os/probe/blobs/sha256:" + strings.Repeat("1", 64), "", 404, "no file", ""},
		"a layout that is bad": {"GET", "/v2/bad/manifests/1", "", 500, "bad/oci-layout", ""},
		"a way out":            {"GET", "/v2/../../etc/manifests/1", "", 500, "escapes", ""},
		"a file":               {"GET", "/os/probe/index.json", "", 404, "", ""},
		"a push":               {"PUT", "/v2/os/probe/manifests/1", "", 405, "pulled alone", ""},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+r.Address()+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Range", c.ranged)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != c.status || !strings.Contains(string(body), c.body) || c.header != "" && resp.Header.Get("Content-Type") != c.header {
				t.Errorf("%s, %q, %q; want %d, %q, %q", resp.Status, body, resp.Header.Get("Content-Type"), c.status, c.body, c.header)
			}
			if strings.Contains(string(body), dir) {
				t.Errorf("tells a path of this host: %q", body)
			}
		})
	}
}
