package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// What a failure means for the caller.
var (
	// ErrNotFound reports a layout, tag or blob that is not there.
	ErrNotFound = errors.New("not in the folder of layouts")
	// ErrInvalid reports a file that is not what a layout has in its place.
	ErrInvalid = errors.New("invalid image layout")
	// ErrCorrupt reports a file whose content does not match its name.
	ErrCorrupt = errors.New("content does not match its digest")
)

// maxDocument bounds index.json and manifests, as distribution-spec v1.1 §"Pushing manifests" has it; maxMark bounds the file oci-layout.
const (
	maxDocument = 4 << 20
	maxMark     = 4 << 10
)

// Folder is a folder of layouts.
type Folder struct{ at string }

// In is the folder at a path, which need not be there yet.
func In(folder string) Folder { return Folder{folder} }

// Manifest returns the manifest that a tag or a digest names in the layout of an image, verified.
func (f Folder) Manifest(name, version string) (mediaType string, body []byte, err error) {
	root, err := f.open(name)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = root.Close() }()
	sum := digest.Digest(version)
	if sum.Validate() != nil {
		described, err := tagged(root, name, version)
		if err != nil {
			return "", nil, err
		}
		mediaType, sum = described.MediaType, described.Digest
	}
	file, err := blobFile(name, sum)
	if err != nil {
		return "", nil, err
	}
	if body, err = read(root, file, maxDocument); err != nil {
		return "", nil, err
	}
	if got := digest.FromBytes(body); got != sum {
		return "", nil, fmt.Errorf("%w: %s has %s", ErrCorrupt, file, got)
	}
	if mediaType == "" {
		mediaType = typeOf(body)
	}
	return mediaType, body, nil
}

// typeOf is the media type that a manifest says of itself; where it says none it is the only kind that may be silent (image-spec v1.0).
func typeOf(body []byte) string {
	var said struct {
		MediaType string            `json:"mediaType"`
		Manifests []json.RawMessage `json:"manifests"`
	}
	if err := json.Unmarshal(body, &said); err != nil || said.MediaType != "" {
		return said.MediaType
	}
	if said.Manifests != nil {
		return ocispec.MediaTypeImageIndex
	}
	return ocispec.MediaTypeImageManifest
}

// Blob opens a blob of the layout of an image. Whether its content matches its digest is for the reader to find out.
func (f Folder) Blob(name, version string) (*os.File, int64, error) {
	root, err := f.open(name)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = root.Close() }()
	file, err := blobFile(name, digest.Digest(version))
	if err != nil {
		return nil, 0, err
	}
	return openFile(root, file)
}

// open returns the root of the folder once there is a layout of this name in it.
func (f Folder) open(name string) (*os.Root, error) {
	root, err := os.OpenRoot(f.at)
	if err != nil {
		return nil, fmt.Errorf("folder of image layouts: %w", withoutPath(err))
	}
	if err := checkMark(root, name); err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// checkMark reads the file that says that a folder is a layout, and of which version.
func checkMark(root *os.Root, name string) error {
	file := path.Join(name, ocispec.ImageLayoutFile)
	body, err := read(root, file, maxMark)
	if err != nil {
		return err
	}
	var mark ocispec.ImageLayout
	if err := json.Unmarshal(body, &mark); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, file, err)
	}
	if mark.Version != ocispec.ImageLayoutVersion {
		return fmt.Errorf("%w: %s: version %q, want %s", ErrInvalid, file, mark.Version, ocispec.ImageLayoutVersion)
	}
	return nil
}

// tagged finds the manifest of a tag. Tools that were given no tag leave it out, so the only manifest of a layout is its latest.
func tagged(root *os.Root, name, tag string) (ocispec.Descriptor, error) {
	file := path.Join(name, ocispec.ImageIndexFile)
	body, err := read(root, file, maxDocument)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	var index ocispec.Index
	if err := json.Unmarshal(body, &index); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("%w: %s: %w", ErrInvalid, file, err)
	}
	var found []ocispec.Descriptor
	for _, entry := range index.Manifests {
		if entry.Annotations[ocispec.AnnotationRefName] == tag {
			found = append(found, entry)
		}
	}
	if len(found) == 0 && tag == "latest" && len(index.Manifests) == 1 && index.Manifests[0].Annotations[ocispec.AnnotationRefName] == "" {
		found = index.Manifests
	}
	switch len(found) {
	case 0:
		return ocispec.Descriptor{}, fmt.Errorf("%w: %s has no tag %q", ErrNotFound, file, tag)
	case 1:
		return found[0], nil
	}
	return ocispec.Descriptor{}, fmt.Errorf("%w: %s has the tag %q %d times", ErrInvalid, file, tag, len(found))
}

// blobFile is where a blob is. Only SHA-256 is known to those who verify it.
func blobFile(name string, sum digest.Digest) (string, error) {
	if err := sum.Validate(); err != nil || sum.Algorithm() != digest.SHA256 {
		return "", fmt.Errorf("%w: %s: digest %q is not sha256: and 64 lower-case hexadecimal digits", ErrInvalid, path.Join(name, ocispec.ImageIndexFile), sum)
	}
	return path.Join(name, ocispec.ImageBlobsDir, sum.Algorithm().String(), sum.Encoded()), nil
}

func read(root *os.Root, file string, limit int64) ([]byte, error) {
	f, size, err := openFile(root, file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if size > limit {
		return nil, fmt.Errorf("%w: %s is larger than %d bytes", ErrInvalid, file, limit)
	}
	body, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, withoutPath(err))
	}
	return body, nil
}

// openFile opens a regular file and no other: to open a pipe would wait for who writes into it, and nothing waits here.
func openFile(root *os.Root, file string) (*os.File, int64, error) {
	f, err := root.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%w: no file %s", ErrNotFound, file)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", file, withoutPath(err))
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: not a regular file", ErrInvalid)
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, fmt.Errorf("%s: %w", file, withoutPath(err))
	}
	return f, info.Size(), nil
}

// withoutPath leaves the path on this host out of an error.
func withoutPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
