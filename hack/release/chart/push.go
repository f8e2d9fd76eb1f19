package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"go.yaml.in/yaml/v3"
)

const (
	chartFile = "Chart.yaml"
	// sizeLimit is more than any package of ours has, in bytes.
	sizeLimit = 16 << 20

	configType  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	contentType types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// Push pushes a package to oci://FOLDER/farrier, with its version as tag, and returns what it is called. Whom the registry takes it from is what
// `docker login`, `podman login` or `helm registry login` stored.
func Push(ctx context.Context, file, folder string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	description, err := describe(content)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	// A tag has no plus, so Helm writes an underscore.
	at, err := name.NewTag(folder + "/" + Name + ":" + description.tag())
	if err != nil {
		return "", err
	}
	config, err := json.Marshal(description)
	if err != nil {
		return "", err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	var blobs []v1.Descriptor
	for _, blob := range []v1.Layer{static.NewLayer(config, configType), static.NewLayer(content, contentType)} {
		d, err := push(at.Repository, blob, options)
		if err != nil {
			return "", fmt.Errorf("%s: %w", at.Repository, err)
		}
		blobs = append(blobs, d)
	}
	text, err := json.Marshal(v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: blobs[0], Layers: blobs[1:]})
	if err != nil {
		return "", err
	}
	m := manifest(text)
	if err := remote.Put(at, m, options...); err != nil {
		return "", fmt.Errorf("%s: %w", at, err)
	}
	digest, _, err := v1.SHA256(bytes.NewReader(m))
	return at.Name() + "@" + digest.String(), err
}

// push uploads a blob.
func push(repository name.Repository, blob v1.Layer, options []remote.Option) (v1.Descriptor, error) {
	digest, err := blob.Digest()
	size, sizeErr := blob.Size()
	mediaType, typeErr := blob.MediaType()
	if err := errors.Join(err, sizeErr, typeErr); err != nil {
		return v1.Descriptor{}, err
	}
	return v1.Descriptor{MediaType: mediaType, Digest: digest, Size: size}, remote.WriteLayer(repository, blob, options...)
}

// description is Chart.yaml.
type description map[string]any

func (d description) tag() string {
	version, _ := d["version"].(string)
	return strings.ReplaceAll(version, "+", "_")
}

// describe reads Chart.yaml in a package.
func describe(content []byte) (description, error) {
	plain, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(io.LimitReader(plain, sizeLimit))
	for {
		header, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("no %s: %w", chartFile, err)
		}
		if header.Name != path.Join(Name, chartFile) {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil {
			return nil, err
		}
		var d description
		return d, yaml.Unmarshal(text, &d)
	}
}

// manifest is the text of one.
type manifest []byte

// RawManifest implements remote.Taggable.
func (m manifest) RawManifest() ([]byte, error) { return m, nil }

// MediaType says what a registry is told that it is.
func (m manifest) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
