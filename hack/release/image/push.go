package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Push copies a layout into a repository of a registry, with the tags that it has there and the bills of materials, and returns what it is called. Whom the
// registry takes it from is what `docker login` or `podman login` stored.
func Push(ctx context.Context, folder, repository string) ([]string, error) {
	into, err := name.NewRepository(repository)
	if err != nil {
		return nil, err
	}
	path, err := layout.FromPath(folder)
	if err != nil {
		return nil, err
	}
	index, err := path.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	var pushed []string
	// Images first: who refers to something comes after it.
	for _, indexes := range []bool{true, false} {
		for _, d := range manifest.Manifests {
			if d.MediaType.IsIndex() != indexes {
				continue
			}
			called, err := push(index, d, into, options)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", into, err)
			}
			pushed = append(pushed, called)
		}
	}
	return pushed, nil
}

// push copies one manifest and what it is made of.
func push(index v1.ImageIndex, d v1.Descriptor, into name.Repository, options []remote.Option) (string, error) {
	var at name.Reference = into.Digest(d.Digest.String())
	called := at.Name()
	if tag := d.Annotations[referenceName]; tag != "" {
		at = into.Tag(tag)
		called = at.Name() + "@" + d.Digest.String()
	}
	switch d.MediaType {
	case types.OCIImageIndex:
		whole, err := index.ImageIndex(d.Digest)
		if err == nil {
			err = remote.WriteIndex(at, whole, options...)
		}
		return called, err
	default:
		img, err := index.Image(d.Digest)
		if err == nil {
			err = remote.Write(at, img, options...)
		}
		return called, err
	}
}
