package layout

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	manifestBody = `{"schemaVersion":2,"layers":[]}`
	mark         = `{"imageLayoutVersion":"1.0.0"}`
)

var manifestDigest = digest.FromString(manifestBody)

// entry is a manifest of index.json.
func entry(annotations string) string {
	return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d,"annotations":{%s}}`, ocispec.MediaTypeImageManifest, manifestDigest, len(manifestBody), annotations)
}

func tag(name string) string { return fmt.Sprintf(`"org.opencontainers.image.ref.name":%q`, name) }

// lay writes a layout with two tags, after files of it were changed; a nil one is left out.
func lay(t *testing.T, name string, files map[string]string) Folder {
	t.Helper()
	all := map[string]string{
		"oci-layout": mark, "index.json": `{"schemaVersion":2,"manifests":[` + entry(tag("1")) + "," + entry(tag("2")) + `]}`,
		"blobs/sha256/" + manifestDigest.Encoded(): manifestBody,
	}
	for file, content := range files {
		all[file] = content
	}
	dir := t.TempDir()
	for file, content := range all {
		if content == "" {
			continue
		}
		to := filepath.Join(dir, name, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return In(dir)
}

func TestManifest(t *testing.T) {
	f := lay(t, "os/flatcar", nil)
	for _, version := range []string{"1", "2", manifestDigest.String()} {
		mediaType, body, err := f.Manifest("os/flatcar", version)
		if err != nil || mediaType != ocispec.MediaTypeImageManifest || string(body) != manifestBody {
			t.Errorf("%s: %q %q %v", version, mediaType, body, err)
		}
	}
	file, size, err := f.Blob("os/flatcar", manifestDigest.String())
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(file)
	if err != nil || string(content) != manifestBody || size != int64(len(content)) {
		t.Errorf("%q, %d, %v", content, size, err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

// What tools leave out: the tag, and the type of a manifest.
func TestManifestsOfOtherTools(t *testing.T) {
	f := lay(t, "x", map[string]string{"index.json": `{"manifests":[` + entry("") + `]}`})
	if _, _, err := f.Manifest("x", "latest"); err != nil {
		t.Errorf("the only manifest, without a tag: %v", err)
	}
	if _, _, err := f.Manifest("x", "1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("another tag: %v", err)
	}
	index := `{"manifests":[]}`
	sum := digest.FromString(index)
	f = lay(t, "x", map[string]string{"blobs/sha256/" + sum.Encoded(): index})
	if mediaType, _, err := f.Manifest("x", sum.String()); err != nil || mediaType != ocispec.MediaTypeImageIndex {
		t.Errorf("an index without a type: %q, %v", mediaType, err)
	}
}

func TestBadLayouts(t *testing.T) {
	blob := "blobs/sha256/" + manifestDigest.Encoded()
	for name, c := range map[string]struct {
		files map[string]string
		means error
		says  string
	}{
		"no layout":           {map[string]string{"oci-layout": ""}, ErrNotFound, "no file x/oci-layout"},
		"mark of nothing":     {map[string]string{"oci-layout": "{"}, ErrInvalid, "x/oci-layout"},
		"another version":     {map[string]string{"oci-layout": `{"imageLayoutVersion":"2.0.0"}`}, ErrInvalid, `x/oci-layout: version "2.0.0", want 1.0.0`},
		"a mark without end":  {map[string]string{"oci-layout": strings.Repeat(" ", maxMark+1)}, ErrInvalid, "x/oci-layout is larger"},
		"no index":            {map[string]string{"index.json": ""}, ErrNotFound, "no file x/index.json"},
		"half an index":       {map[string]string{"index.json": `{"manifests":[`}, ErrInvalid, "x/index.json"},
		"an index too large":  {map[string]string{"index.json": strings.Repeat(" ", maxDocument+1)}, ErrInvalid, "x/index.json is larger"},
		"no such tag":         {map[string]string{"index.json": `{"manifests":[]}`}, ErrNotFound, `x/index.json has no tag "1"`},
		"a tag twice":         {map[string]string{"index.json": `{"manifests":[` + entry(tag("1")) + "," + entry(tag("1")) + `]}`}, ErrInvalid, `the tag "1" 2 times`},
		"a digest with steps": {map[string]string{"index.json": `{"manifests":[{"digest":"sha256:../../../etc/passwd","annotations":{` + tag("1") + `}}]}`}, ErrInvalid, "x/index.json: digest"},
		"no manifest":         {map[string]string{blob: ""}, ErrNotFound, "no file x/" + blob},
		"another manifest":    {map[string]string{blob: `{}`}, ErrCorrupt, "x/" + blob + " has sha256:"},
	} {
		t.Run(name, func(t *testing.T) {
			f := lay(t, "x", c.files)
			_, _, err := f.Manifest("x", "1")
			if !errors.Is(err, c.means) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), f.at) {
				t.Errorf("%v; want %v with %q, and no path of this host", err, c.means, c.says)
			}
		})
	}
	_, _, err := lay(t, "x", nil).Manifest("y", "1")
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "y/oci-layout") {
		t.Errorf("no such layout: %v", err)
	}
	if _, _, err := In(filepath.Join(t.TempDir(), "gone")).Manifest("x", "1"); err == nil || strings.Contains(err.Error(), "gone") {
		t.Errorf("no folder: %v", err)
	}
}

// Nothing outside the folder is read, and nothing waits for a pipe.
func TestAWayOut(t *testing.T) {
	outside := lay(t, "secret", nil)
	f := lay(t, "x", map[string]string{"index.json": ""})
	blob := filepath.Join("x", "blobs", "sha256", manifestDigest.Encoded())
	for link, target := range map[string]string{
		"linked": filepath.Join(outside.at, "secret"), "up": "../" + filepath.Base(outside.at) + "/secret", "x/index.json": filepath.Join(outside.at, "secret", "index.json"),
	} {
		if err := os.Symlink(target, filepath.Join(f.at, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"linked", "up", "x", "../" + filepath.Base(outside.at) + "/secret", "/etc"} {
		if _, _, err := f.Manifest(name, "1"); err == nil || errors.Is(err, ErrNotFound) && name != "/etc" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := f.Blob("x", "sha256:../../../secret"); !errors.Is(err, ErrInvalid) {
		t.Errorf("a digest with steps: %v", err)
	}
	pipe := filepath.Join(f.at, blob)
	if err := errors.Join(os.Remove(pipe), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Blob("x", manifestDigest.String()); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
	if err := errors.Join(os.Remove(pipe), os.Mkdir(pipe, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Blob("x", manifestDigest.String()); !errors.Is(err, ErrInvalid) {
		t.Errorf("a folder: %v", err)
	}
	// A link that stays inside is as good as a file.
	if err := os.Symlink("x", filepath.Join(f.at, "alias")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Blob("alias", digest.FromString("none").String()); !errors.Is(err, ErrNotFound) {
		t.Errorf("through a link inside: %v", err)
	}
}
