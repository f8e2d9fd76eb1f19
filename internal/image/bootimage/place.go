package bootimage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// layoutPrefix marks an OCI image layout, as skopeo(1) and others have it: oci:DIR[:TAG].
const layoutPrefix = "oci:"

// Place is where an image is: in a registry, or in an OCI image layout.
type Place struct {
	Name    string // as it was asked for
	Ref     registry.Reference
	Layout  string // the folder; empty: a registry
	store   *target
	version string // tag or digest
}

// target is where the bytes are. All copies of a place have the same, for a layout that is locked is read again.
type target struct{ oras.Target }

// Options say how to talk to a registry.
type Options struct {
	PlainHTTP bool
	// Client is for tests; nil: one that takes the credentials of docker login.
	Client remote.Client
}

// Open finds the place that a text names: a reference, or oci:DIR[:TAG]. Where create is false a layout has to be there.
func Open(ctx context.Context, text string, o Options, create bool) (Place, error) {
	if folder, ok := strings.CutPrefix(text, layoutPrefix); ok {
		return openLayout(ctx, text, folder, create)
	}
	if info, err := os.Stat(filepath.Join(text, ocispec.ImageLayoutFile)); err == nil && !info.IsDir() {
		return openLayout(ctx, text, text, create)
	}
	ref, err := registry.ParseReference(text)
	if err != nil {
		return Place{}, err
	}
	repository, err := remote.NewRepository(ref.Name())
	if err != nil {
		return Place{}, fmt.Errorf("image %s: %w", text, err)
	}
	repository.PlainHTTP = o.PlainHTTP
	if repository.Client = o.Client; o.Client == nil {
		if repository.Client, err = dockerLogin(); err != nil {
			return Place{}, err
		}
	}
	return Place{Name: text, Ref: ref, store: &target{repository}, version: ref.Version()}, nil
}

// dockerLogin is a client with the credentials that docker login and podman login have stored in ~/.docker/config.json, or its helpers.
func dockerLogin() (remote.Client, error) {
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("credentials of registries: %w", err)
	}
	return &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: credentials.Credential(store)}, nil
}

func openLayout(ctx context.Context, text, folder string, create bool) (Place, error) {
	tag := "latest"
	// A colon behind the last slash begins the tag.
	if colon := strings.LastIndexByte(folder, ':'); colon > strings.LastIndexByte(folder, filepath.Separator) {
		folder, tag = folder[:colon], folder[colon+1:]
	}
	ref, err := registry.ParseReference("layout.invalid/image:" + tag)
	if err != nil {
		return Place{}, fmt.Errorf("image %s: %w", text, err)
	}
	if !create {
		if _, err := os.Stat(filepath.Join(folder, ocispec.ImageLayoutFile)); err != nil {
			return Place{}, fmt.Errorf("image %s: not an OCI image layout: %w", text, err)
		}
	}
	store, err := oci.NewWithContext(ctx, folder)
	if err != nil {
		return Place{}, fmt.Errorf("image %s: %w", text, err)
	}
	return Place{Name: text, Ref: ref, Layout: folder, store: &target{store}, version: tag}, nil
}

// maxManifest bounds a manifest, as package registry does.
const maxManifest = 4 << 20

// Find tells what the image offers a machine of an architecture.
func (p Place) Find(ctx context.Context, architecture string) (registry.Image, error) {
	return registry.ResolveFrom(ctx, p.Ref, architecture, p.fetch)
}

// Architectures tells for which architectures there is an image, and the digest of what the reference names; none: it is one image.
func (p Place) Architectures(ctx context.Context) (digest string, architectures []string, err error) {
	return registry.ArchitecturesFrom(ctx, p.Ref, p.fetch)
}

// fetch reads a manifest and verifies it.
func (p Place) fetch(ctx context.Context, version string) (mediaType string, body []byte, err error) {
	described, r, err := oras.Fetch(ctx, p.store, version, oras.DefaultFetchOptions)
	if err != nil {
		return "", nil, fmt.Errorf("image %s: %w", p.Name, err)
	}
	defer func() { _ = r.Close() }()
	body, err = io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return "", nil, fmt.Errorf("image %s: manifest: %w", p.Name, err)
	}
	if len(body) > maxManifest {
		return "", nil, fmt.Errorf("image %s: manifest is larger than %d bytes", p.Name, maxManifest)
	}
	if got := registry.DigestOf(body); got != described.Digest.String() {
		return "", nil, fmt.Errorf("image %s: %w", p.Name, registry.ErrCorrupt)
	}
	return described.MediaType, body, nil
}

// maxRead bounds a layer that is read into memory.
const maxRead = 512 << 20

// Read reads a layer and verifies it.
func (p Place) Read(ctx context.Context, layer registry.Layer) ([]byte, error) {
	if layer.Size > maxRead {
		return nil, fmt.Errorf("layer %s of %d bytes is too large to be looked into", layer.Digest, layer.Size)
	}
	described := ocispec.Descriptor{MediaType: layer.MediaType, Digest: digest.Digest(layer.Digest), Size: layer.Size}
	body, err := content.FetchAll(ctx, p.store, described)
	if err != nil {
		return nil, fmt.Errorf("image %s: layer %s: %w", p.Name, layer.Digest, err)
	}
	return body, nil
}
