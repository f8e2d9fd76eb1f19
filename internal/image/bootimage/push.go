package bootimage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
)

// Image is what is pushed.
type Image struct {
	Architecture string
	Layers       []Layer
	Annotations  map[string]string
}

// Push puts an image where a reference names it, in the place of what is there, and returns its digest. Files that are there already are not sent again.
func (p Place) Push(ctx context.Context, image Image) (string, error) {
	unlock, err := p.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	own, err := p.upload(ctx, image)
	if err != nil {
		return "", err
	}
	if err := p.store.Tag(ctx, own, p.version); err != nil {
		return "", fmt.Errorf("push %s: tag: %w", p.Name, err)
	}
	return own.Digest.String(), nil
}

// upload sends everything of an image; no tag names it yet.
func (p Place) upload(ctx context.Context, image Image) (ocispec.Descriptor, error) {
	none := ocispec.Descriptor{}
	if p.Ref.Digest != "" {
		return none, fmt.Errorf("push %s: a digest cannot be chosen, want a tag", p.Name)
	}
	for _, layer := range image.Layers {
		if err := p.send(ctx, layer); err != nil {
			return none, fmt.Errorf("push %s: layer %s: %w", p.Name, layer.descriptor.Annotations[ocispec.AnnotationTitle], err)
		}
	}
	manifest, config, err := image.manifest()
	if err != nil {
		return none, err
	}
	if err := p.send(ctx, config); err != nil {
		return none, fmt.Errorf("push %s: configuration: %w", p.Name, err)
	}
	if err := p.send(ctx, manifest); err != nil {
		return none, fmt.Errorf("push %s: manifest: %w", p.Name, err)
	}
	return manifest.descriptor, nil
}

func (p Place) send(ctx context.Context, layer Layer) error {
	if there, err := p.store.Exists(ctx, layer.descriptor); err != nil || there {
		return err
	}
	r, err := layer.open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	// A file that has changed since its digest was taken is refused, whoever the receiver is.
	verified := content.NewVerifyReader(r, layer.descriptor)
	if err := p.store.Push(ctx, layer.descriptor, verified); err != nil {
		return err
	}
	return verified.Verify()
}

// manifest renders manifest and configuration. The platform is in the configuration, where tools look for it; there is no time in either.
func (i Image) manifest() (manifest, config Layer, err error) {
	configuration, err := json.Marshal(ocispec.Image{
		Platform: ocispec.Platform{OS: "linux", Architecture: i.Architecture}, RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{}},
	})
	if err != nil {
		return Layer{}, Layer{}, fmt.Errorf("image configuration: %w", err)
	}
	config = Bytes(ocispec.MediaTypeImageConfig, "configuration", configuration)
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config:      ocispec.Descriptor{MediaType: config.descriptor.MediaType, Digest: config.descriptor.Digest, Size: config.descriptor.Size},
		Annotations: i.Annotations,
	}
	for _, layer := range i.Layers {
		m.Layers = append(m.Layers, layer.descriptor)
	}
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(m); err != nil {
		return Layer{}, Layer{}, fmt.Errorf("image manifest: %w", err)
	}
	manifest = Bytes(ocispec.MediaTypeImageManifest, "manifest", bytes.TrimSuffix(body.Bytes(), []byte("\n")))
	manifest.descriptor.Annotations = nil
	manifest.descriptor.Platform = &ocispec.Platform{OS: "linux", Architecture: i.Architecture}
	return manifest, config, nil
}
