package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/farrier-dev/farrier/internal/image/layout"
)

// Names of registries that are folders of image layouts on this host. No name service knows them (RFC 6761 §6.3), and a client without the folder does
// not allow them.
const (
	// LayoutRegistry is the folder of --image-layouts.
	LayoutRegistry = "layouts.localhost"
	// DiscoveryRegistry is where `farrier up` keeps the discovery image that it builds.
	DiscoveryRegistry = "discovery.localhost"
)

// layouts are the folders of image layouts, by the registry that they are asked for as.
type layouts map[string]layout.Folder

func newLayouts(folders map[string]string) layouts {
	l := layouts{}
	for name, path := range folders {
		l[name] = layout.In(path)
	}
	return l
}

// manifest is Client.manifest for a folder.
func (l layouts) manifest(ref Reference, version string) (fetched, error) {
	mediaType, body, err := l[ref.Registry].Manifest(ref.Repository, version)
	if err != nil {
		return fetched{}, fmt.Errorf("manifest %s of %s: %w", version, ref.Name(), layoutError(err))
	}
	return fetched{mediaType: mediaType, body: body}, nil
}

// blob is Client.Blob for a folder.
func (l layouts) blob(p BlobPart) (OpenedBlob, error) {
	file, size, err := l.open(p.Ref, p.Digest)
	if err != nil {
		return OpenedBlob{}, err
	}
	if p.Offset > size {
		err = fmt.Errorf("%w: it ends before byte %d", ErrCorrupt, p.Offset)
	} else if _, seekErr := file.Seek(p.Offset, io.SeekStart); seekErr != nil {
		err = fmt.Errorf("%w: %w", ErrUnreachable, seekErr)
	}
	if err != nil {
		_ = file.Close()
		return OpenedBlob{}, fmt.Errorf("blob %s of %s: %w", p.Digest, p.Ref.Name(), err)
	}
	return OpenedBlob{ReadCloser: file, Size: size}, nil
}

func (l layouts) blobSize(ref Reference, digest string) (int64, error) {
	file, size, err := l.open(ref, digest)
	if err != nil {
		return 0, err
	}
	return size, file.Close()
}

func (l layouts) open(ref Reference, digest string) (*os.File, int64, error) {
	file, size, err := l[ref.Registry].Blob(ref.Repository, digest)
	if err != nil {
		err = layoutError(err)
	} else if err = checkEmpty(digest, size); err != nil {
		_ = file.Close()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("blob %s of %s: %w", digest, ref.Name(), err)
	}
	return file, size, nil
}

// complete reports what an image lacks in a folder: a registry takes no manifest without its layers, and a folder may have been copied half.
func (l layouts) complete(ctx context.Context, image Image) error {
	for _, layer := range image.Layers {
		size, err := l.blobSize(image.Ref, layer.Digest)
		if err == nil && size != layer.Size {
			err = fmt.Errorf("blob %s of %s: %w: it has %d bytes, and the manifest says %d", layer.Digest, image.Ref.Name(), ErrCorrupt, size, layer.Size)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// layoutError says what the failure of a folder means, in the words for registries.
func layoutError(err error) error {
	for _, pair := range []struct{ theirs, ours error }{{layout.ErrNotFound, ErrNotFound}, {layout.ErrInvalid, ErrInvalidManifest}, {layout.ErrCorrupt, ErrCorrupt}} {
		if errors.Is(err, pair.theirs) {
			return layoutFailure{pair.ours, err}
		}
	}
	return layoutFailure{ErrUnreachable, err}
}

// layoutFailure prints as what the folder says: it names the file, and there is no registry.
type layoutFailure struct{ means, err error }

func (f layoutFailure) Error() string   { return f.err.Error() }
func (f layoutFailure) Unwrap() []error { return []error{f.means, f.err} }
