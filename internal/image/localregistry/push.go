package localregistry

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Media types of boot layers.
const (
	KernelType    = "application/vnd.ironcore.image.kernel"
	InitramfsType = "application/vnd.ironcore.image.initramfs"
	SquashfsType  = "application/vnd.ironcore.image.squashfs"
	UKIType       = "application/vnd.ironcore.image.uki"
)

// Image is a boot image to be pushed. A layer without content is left out.
type Image struct {
	Kernel    []byte
	Initramfs []byte
	Squashfs  []byte
	UKI       []byte
	// Others are layers of any other media type.
	Others []Layer
	// Annotations are those of the manifest.
	Annotations map[string]string
	// Docker makes it an image of Docker's media types instead of OCI's.
	Docker bool
}

// Layer is a layer with the media type that it gets in the manifest.
type Layer struct {
	MediaType string
	Content   []byte
}

// Pushed says what an image became in the registry. The digest of a layer
// that the image does not have is empty.
type Pushed struct {
	Reference string // address/repository:tag
	Digest    string // of the manifest
	Kernel    string
	Initramfs string
	Squashfs  string
	UKI       string
	Others    []string
}

// ownRequest marks the registry's own requests: they are not counted, and it
// is never away for them.
const ownRequest = "X-Local-Registry"

type ownTransport struct{}

func (ownTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set(ownRequest, "1")
	return http.DefaultTransport.RoundTrip(req)
}

func options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithTransport(ownTransport{}), remote.WithUserAgent("farrier")}
}

// Push stores an image under a tag, which may exist already.
func (r *Registry) Push(ctx context.Context, repository, tag string, image Image) (Pushed, error) {
	ref, err := r.tag(repository, tag)
	if err != nil {
		return Pushed{}, err
	}
	built, pushed, err := image.build()
	if err != nil {
		return Pushed{}, fmt.Errorf("build image %s: %w", ref, err)
	}
	if err := remote.Write(ref, built, options(ctx)...); err != nil {
		return Pushed{}, fmt.Errorf("push image %s: %w", ref, err)
	}
	pushed.Reference = r.Reference(repository, tag)
	return pushed, nil
}

// Entry is one image of an index.
type Entry struct {
	Image Image
	// Architecture is the entry's platform, left out when it is empty.
	Architecture string
	// Annotations tell entries apart in older indexes.
	Annotations map[string]string
}

// PushIndex stores an index of images under a tag. It returns what each entry
// became, and the digest of the index.
func (r *Registry) PushIndex(ctx context.Context, repository, tag string, docker bool, entries ...Entry) ([]Pushed, string, error) {
	ref, err := r.tag(repository, tag)
	if err != nil {
		return nil, "", err
	}
	mediaType := types.OCIImageIndex
	if docker {
		mediaType = types.DockerManifestList
	}
	index := mutate.IndexMediaType(empty.Index, mediaType)
	var all []Pushed
	for _, entry := range entries {
		built, pushed, err := entry.Image.build()
		if err != nil {
			return nil, "", fmt.Errorf("build image %s: %w", ref, err)
		}
		descriptor := v1.Descriptor{Annotations: entry.Annotations}
		if entry.Architecture != "" {
			descriptor.Platform = &v1.Platform{OS: "linux", Architecture: entry.Architecture}
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: built, Descriptor: descriptor})
		pushed.Reference = r.Reference(repository, tag)
		all = append(all, pushed)
	}
	if err := remote.WriteIndex(ref, index, options(ctx)...); err != nil {
		return nil, "", fmt.Errorf("push index %s: %w", ref, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return nil, "", fmt.Errorf("push index %s: %w", ref, err)
	}
	return all, digest.String(), nil
}

// Withdraw removes a tag. What it pointed to can still be had by digest.
func (r *Registry) Withdraw(ctx context.Context, repository, tag string) error {
	ref, err := r.tag(repository, tag)
	if err != nil {
		return err
	}
	if err := remote.Delete(ref, options(ctx)...); err != nil {
		return fmt.Errorf("withdraw image %s: %w", ref, err)
	}
	return nil
}

// WithdrawDigest removes a manifest by its digest.
func (r *Registry) WithdrawDigest(ctx context.Context, repository, digest string) error {
	ref, err := name.NewDigest(r.Address()+"/"+repository+"@"+digest, name.Insecure)
	if err != nil {
		return fmt.Errorf("local registry: %w", err)
	}
	if err := remote.Delete(ref, options(ctx)...); err != nil {
		return fmt.Errorf("withdraw image %s: %w", ref, err)
	}
	return nil
}

func (r *Registry) tag(repository, tag string) (name.Tag, error) {
	ref, err := name.NewTag(r.Reference(repository, tag), name.Insecure, name.StrictValidation)
	if err != nil {
		return name.Tag{}, fmt.Errorf("local registry: %w", err)
	}
	return ref, nil
}

// build makes the image that is pushed. Its layers are the contents as they
// are: they are files that firmware and kernels read, not file systems to unpack.
func (i Image) build() (v1.Image, Pushed, error) {
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	if i.Docker {
		image = mutate.MediaType(empty.Image, types.DockerManifestSchema2)
		image = mutate.ConfigMediaType(image, types.DockerConfigJSON)
	}
	var pushed Pushed
	add := func(mediaType string, content []byte) (string, error) {
		layer := static.NewLayer(bytes.Clone(content), types.MediaType(mediaType))
		var err error
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.MediaType(mediaType)}); err != nil {
			return "", err
		}
		digest, err := layer.Digest()
		return digest.String(), err
	}
	for _, layer := range []struct {
		mediaType string
		content   []byte
		digest    *string
	}{
		{KernelType, i.Kernel, &pushed.Kernel},
		{InitramfsType, i.Initramfs, &pushed.Initramfs},
		{SquashfsType, i.Squashfs, &pushed.Squashfs},
		{UKIType, i.UKI, &pushed.UKI},
	} {
		if layer.content == nil {
			continue
		}
		var err error
		if *layer.digest, err = add(layer.mediaType, layer.content); err != nil {
			return nil, Pushed{}, err
		}
	}
	for _, layer := range i.Others {
		digest, err := add(layer.MediaType, layer.Content)
		if err != nil {
			return nil, Pushed{}, err
		}
		pushed.Others = append(pushed.Others, digest)
	}
	if len(i.Annotations) > 0 {
		image = mutate.Annotations(image, i.Annotations).(v1.Image)
	}
	digest, err := image.Digest()
	pushed.Digest = digest.String()
	return image, pushed, err
}
