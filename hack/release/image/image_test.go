package image

import (
	"archive/tar"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/farrier-dev/farrier/hack/release/program"
	"github.com/farrier-dev/farrier/hack/release/sbom"
	"github.com/farrier-dev/farrier/hack/release/source"
)

var of = source.Source{Root: "../../..", Version: "v0.1.0", Commit: "4b62ce0a1b2c3d4e5f60718293a4b5c6d7e8f901", Time: time.Unix(1_770_000_000, 0).UTC()}

// programs are copies of this test, which is a Go program as any other, for two platforms.
func programs(t *testing.T) map[program.Platform]map[string]string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "farrier-manager")
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	built := map[string]string{program.Manager: file}
	return map[program.Platform]map[string]string{{OS: "linux", Arch: "amd64"}: built, {OS: "linux", Arch: "arm64"}: built, {OS: "darwin", Arch: "arm64"}: built}
}

func manager(t *testing.T) Image {
	t.Helper()
	at := slices.IndexFunc(Images, func(i Image) bool { return i.Name == program.Manager })
	if at < 0 {
		t.Fatal("no image of the manager")
	}
	return Images[at]
}

// TestWrite makes an image twice: the digests are the same, and the image has what a cluster expects of it, for both platforms.
func TestWrite(t *testing.T) {
	i, built, folder := manager(t), programs(t), t.TempDir()
	digest, err := i.Write(of, built, filepath.Join(folder, "one"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := i.Write(of, built, filepath.Join(folder, "two"))
	if err != nil || digest != again {
		t.Errorf("the second time %s, %v; the first time %s", again, err, digest)
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(folder, "one"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if d := manifest.Manifests[0]; d.Digest != digest || d.MediaType != types.OCIImageIndex || d.Annotations[referenceName] != "0.1.0" {
		t.Errorf("the layout begins with %+v", d)
	}
	whole, err := index.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := whole.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for n, d := range platforms.Manifests {
		got = append(got, d.Platform.String())
		img, err := whole.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		looksRight(t, img, d.Platform.Architecture)
		describes(t, index, manifest.Manifests[n+1], d)
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, got); diff != "" {
		t.Error(diff)
	}
	if platforms.Annotations["org.opencontainers.image.revision"] != of.Commit {
		t.Errorf("annotations: %v", platforms.Annotations)
	}
}

// looksRight holds an image to its configuration and its files.
func looksRight(t *testing.T, img v1.Image, arch string) {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != arch || config.OS != "linux" || !config.Created.Equal(of.Time) || config.Config.User != "65532:65532" ||
		strings.Join(config.Config.Entrypoint, " ") != "/usr/bin/farrier-manager" || !slices.Contains(config.Config.Env, "XDG_DATA_HOME=/var/lib") || config.Config.Labels["org.opencontainers.image.version"] != "0.1.0" {
		t.Errorf("%s: %+v", arch, config)
	}
	files := map[string]*tar.Header{}
	var authorities []byte
	content := mutate.Extract(img)
	defer func() { _ = content.Close() }()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = h
		if h.Name == "etc/ssl/certs/ca-certificates.crt" {
			if authorities, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !x509.NewCertPool().AppendCertsFromPEM(authorities) || strings.Count(string(authorities), "BEGIN CERTIFICATE") < 100 {
		t.Errorf("%s: authorities in %d bytes", arch, len(authorities))
	}
	for name, want := range map[string]struct {
		mode  int64
		owner int
	}{"usr/bin/farrier-manager": {0o755, 0}, "var/lib/farrier": {0o700, User}, "home/nonroot": {0o700, User}, "tmp": {0o1777, 0}, "etc/passwd": {0o644, 0}} {
		if h := files[name]; h == nil || h.Mode != want.mode || h.Uid != want.owner || h.Gid != want.owner {
			t.Errorf("%s: %s is %+v, want %+v", arch, name, h, want)
		}
	}
	for name := range files {
		if strings.HasSuffix(name, "/sh") || strings.Contains(name, "lib64") {
			t.Errorf("%s: there is %s", arch, name)
		}
	}
}

// describes checks that an artifact of the layout is the bill of materials of an image.
func describes(t *testing.T, index v1.ImageIndex, artifact, of v1.Descriptor) {
	t.Helper()
	bill, err := index.Image(artifact.Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := bill.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Subject == nil || manifest.Subject.Digest != of.Digest || manifest.Config.MediaType != sbom.MediaType || manifest.Layers[0].MediaType != sbom.MediaType {
		t.Errorf("the bill of %s is %+v", of.Digest, manifest)
	}
}

// TestPush: a registry gets the tag, both platforms and the bills, which it lists for each image.
func TestPush(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "layout")
	digest, err := manager(t).Write(of, programs(t), folder)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	repository := strings.TrimPrefix(server.URL, "http://") + "/farrier/farrier-manager"
	pushed, err := Push(t.Context(), folder, repository)
	if err != nil {
		t.Fatal(err)
	}
	if len(pushed) != 3 || pushed[0] != repository+":0.1.0@"+digest.String() {
		t.Errorf("pushed %q", pushed)
	}
	tag, err := name.NewTag(repository + ":0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := index.Digest(); err != nil || got != digest {
		t.Errorf("the registry has %s, %v, want %s", got, err, digest)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifest.Manifests {
		referrers, err := remote.Referrers(tag.Digest(d.Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		list, err := referrers.IndexManifest()
		if err != nil || len(list.Manifests) != 1 {
			t.Errorf("what refers to %s: %+v, %v", d.Platform, list, err)
		}
	}
	if _, err := Push(t.Context(), folder, "no repository"); err == nil {
		t.Error("pushed into what is no repository")
	}
	if _, err := Push(t.Context(), t.TempDir(), repository); err == nil {
		t.Error("pushed a folder that is no layout")
	}
}
