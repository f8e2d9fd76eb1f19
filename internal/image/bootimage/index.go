package bootimage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// dockerList is the index of older tools.
const dockerList = "application/vnd.docker.distribution.manifest.list.v2+json"

// Added says what became of an image, and of the reference that it was added to.
type Added struct {
	Digest string // of the image itself
	// Index is the digest of the index that the reference names now, and Architectures are those that it has images for. Both are empty where
	// the reference names the image itself.
	Index         string
	Architectures []string
}

// addAttempts is how often an index is made anew because somebody else has pushed meanwhile.
const addAttempts = 3

// ErrOvertaken reports that others push to the same reference all the time.
var ErrOvertaken = errors.New("somebody else pushes to this reference at the same time: push again")

// Add puts an image where a reference names it, beside the images for other architectures that are there: the reference then names an index. It replaces
// the image for the same architecture.
//
// A layout is locked meanwhile. Registries cannot change a tag only if it still is what it was (distribution-spec v1.1 has no conditional push), so what
// there is is read at the last moment, and looked at again afterwards: where somebody else has written in between, theirs is added to.
func (p Place) Add(ctx context.Context, image Image) (Added, error) {
	unlock, err := p.lock(ctx)
	if err != nil {
		return Added{}, err
	}
	defer unlock()
	own, err := p.upload(ctx, image)
	if err != nil {
		return Added{}, err
	}
	for range addAttempts {
		others, err := p.others(ctx, image.Architecture)
		if err != nil {
			return Added{}, fmt.Errorf("push %s: what is there: %w", p.Name, err)
		}
		wanted, added, err := p.join(ctx, own, others)
		if err != nil {
			return Added{}, fmt.Errorf("push %s: index: %w", p.Name, err)
		}
		if err := p.store.Tag(ctx, wanted, p.version); err != nil {
			return Added{}, fmt.Errorf("push %s: tag: %w", p.Name, err)
		}
		now, err := p.store.Resolve(ctx, p.version)
		if err != nil {
			return Added{}, fmt.Errorf("push %s: %w", p.Name, err)
		}
		if now.Digest == wanted.Digest {
			return added, nil
		}
	}
	return Added{}, fmt.Errorf("push %s: %w", p.Name, ErrOvertaken)
}

// lock has nobody else write to a layout: two that write index.json lose what one of them wrote.
func (p Place) lock(ctx context.Context) (unlock func(), err error) {
	if p.Layout == "" {
		return func() {}, nil
	}
	folder, err := os.Open(p.Layout)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", p.Name, err)
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = folder.Close()
		return nil, fmt.Errorf("image %s: somebody else writes to this layout now: %w", p.Name, err)
	}
	// What was read of it before may be old.
	if p.store.Target, err = oci.NewWithContext(ctx, p.Layout); err != nil {
		_ = folder.Close()
		return nil, fmt.Errorf("image %s: %w", p.Name, err)
	}
	return func() { _ = folder.Close() }, nil
}

// others are the images for other architectures that the reference names now.
func (p Place) others(ctx context.Context, architecture string) ([]ocispec.Descriptor, error) {
	now, err := p.store.Resolve(ctx, p.version)
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, body, err := p.fetch(ctx, now.Digest.String())
	if err != nil {
		return nil, err
	}
	if now.MediaType != ocispec.MediaTypeImageIndex && now.MediaType != dockerList {
		return p.otherImage(ctx, now, body, architecture)
	}
	var index ocispec.Index
	if err := json.Unmarshal(body, &index); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(index.Manifests, func(entry ocispec.Descriptor) bool {
		return entry.Platform != nil && registry.CanonicalArchitecture(entry.Platform.Architecture) == architecture
	}), nil
}

// otherImage is a single image, if it says that it is for another architecture.
func (p Place) otherImage(ctx context.Context, described ocispec.Descriptor, body []byte, architecture string) ([]ocispec.Descriptor, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	if m.Config.Size > maxManifest {
		return nil, nil // no configuration of an image is so large
	}
	configuration, err := p.Read(ctx, registry.Layer{Digest: m.Config.Digest.String(), MediaType: m.Config.MediaType, Size: m.Config.Size})
	if err != nil {
		return nil, err
	}
	var platform ocispec.Platform
	if json.Unmarshal(configuration, &platform) != nil || platform.Architecture == "" || registry.CanonicalArchitecture(platform.Architecture) == architecture {
		return nil, nil // what does not say what it is for is replaced, as it always was
	}
	described.Platform, described.Annotations = &ocispec.Platform{OS: cmp.Or(platform.OS, "linux"), Architecture: platform.Architecture}, nil
	return []ocispec.Descriptor{described}, nil
}

// join is what the reference is to name: an image that is alone, or an index of all.
func (p Place) join(ctx context.Context, own ocispec.Descriptor, others []ocispec.Descriptor) (ocispec.Descriptor, Added, error) {
	added := Added{Digest: own.Digest.String()}
	if len(others) == 0 {
		return own, added, nil
	}
	all := append(slices.Clip(others), own)
	slices.SortStableFunc(all, func(a, b ocispec.Descriptor) int { return strings.Compare(architectureOf(a), architectureOf(b)) })
	for _, entry := range all {
		if name := architectureOf(entry); name != "" && !slices.Contains(added.Architectures, name) {
			added.Architectures = append(added.Architectures, name)
		}
	}
	body, err := json.Marshal(ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: all})
	if err != nil {
		return own, added, err
	}
	index := Bytes(ocispec.MediaTypeImageIndex, "index", body)
	index.descriptor.Annotations = nil
	added.Index = index.descriptor.Digest.String()
	return index.descriptor, added, p.send(ctx, index)
}

func architectureOf(entry ocispec.Descriptor) string {
	if entry.Platform == nil {
		return ""
	}
	return entry.Platform.Architecture
}
