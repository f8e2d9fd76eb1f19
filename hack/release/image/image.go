package image

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/farrier-dev/farrier/hack/release/archive"
	"github.com/farrier-dev/farrier/hack/release/program"
	"github.com/farrier-dev/farrier/hack/release/source"
)

// Image is one that is released.
type Image struct {
	// Name is that of its repository, and of the program that it starts; Programs are all that are in it.
	Name, Title string
	Programs    []string
}

// Images are all. `farrier image build` looks for metalprobe beside itself.
var Images = []Image{
	{program.Farrier, "Farrier with a Kubernetes API of its own, and its command line", []string{program.Farrier, program.Probe}},
	{program.Manager, "Farrier on the Kubernetes API of a cluster", []string{program.Manager}},
	{program.BootServer, "Farrier's boot server without Kubernetes credentials", []string{program.BootServer}},
}

// programDir is where programs are.
const programDir = "/usr/bin/"

// repository is where the source is.
const repository = "https://github.com/farrier-dev/farrier"

// annotations are those of https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md.
func (i Image) annotations(s source.Source) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         i.Name,
		"org.opencontainers.image.description":   i.Title,
		"org.opencontainers.image.version":       s.Plain(),
		"org.opencontainers.image.revision":      s.Commit,
		"org.opencontainers.image.created":       s.Time.Format(time.RFC3339),
		"org.opencontainers.image.source":        repository,
		"org.opencontainers.image.url":           repository,
		"org.opencontainers.image.documentation": repository + "/blob/" + s.Commit + "/docs/install.md",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.vendor":        "Farrier",
	}
}

// build makes the image of one platform from built programs.
func (i Image) build(s source.Source, p program.Platform, built map[string]string) (v1.Image, error) {
	license, err := os.ReadFile(filepath.Join(s.Root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	below, err := base(license)
	if err != nil {
		return nil, err
	}
	var above []archive.Entry
	for _, name := range i.Programs {
		above = append(above, archive.Entry{Name: programDir[1:] + name, Mode: 0o755, File: built[name]})
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	var layers []mutate.Addendum
	for _, entries := range [][]archive.Entry{below, above} {
		layer, err := layerOf(entries, s.Time)
		if err != nil {
			return nil, err
		}
		layers = append(layers, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: s.Time}, CreatedBy: "hack/release"}})
	}
	if img, err = mutate.Append(img, layers...); err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS, config.Created = p.Arch, p.OS, v1.Time{Time: s.Time}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%[1]d", User), Entrypoint: []string{programDir + i.Name}, WorkingDir: "/",
		Env: []string{"PATH=" + programDir[:len(programDir)-1], "HOME=/home/nonroot", "XDG_DATA_HOME=/" + path.Dir(dataDir)}, Labels: i.annotations(s),
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	annotated, ok := mutate.Annotations(img, i.annotations(s)).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("image %s: annotations made no image of it", i.Name)
	}
	return annotated, nil
}

// layerOf makes a layer, which is kept in memory: the largest program has 40 MB compressed.
func layerOf(entries []archive.Entry, at time.Time) (v1.Layer, error) {
	var plain bytes.Buffer
	if err := archive.Write(&plain, entries, at); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(plain.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}
