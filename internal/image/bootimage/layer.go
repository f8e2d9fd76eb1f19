package bootimage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Media types of the layers.
const (
	KernelType    = "application/vnd.ironcore.image.kernel"
	InitramfsType = "application/vnd.ironcore.image.initramfs"
	SquashfsType  = "application/vnd.ironcore.image.squashfs"
	UKIType       = "application/vnd.ironcore.image.uki"
)

// Layer is a file of an image.
type Layer struct {
	descriptor ocispec.Descriptor
	open       func() (io.ReadCloser, error)
}

// Bytes is a layer with this content.
func Bytes(mediaType, title string, content []byte) Layer {
	return Layer{
		descriptor: describe(mediaType, title, digest.FromBytes(content), int64(len(content))),
		open:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}

// File is a layer with the content of a file, which is read twice: for its digest, and when it is pushed.
func File(mediaType, title, path string) (Layer, error) {
	f, size, err := openFile(path)
	if err != nil {
		return Layer{}, err
	}
	defer func() { _ = f.Close() }()
	sum, err := digest.FromReader(f)
	if err != nil {
		return Layer{}, fmt.Errorf("%s: %w", path, err)
	}
	return Layer{describe(mediaType, title, sum, size), func() (io.ReadCloser, error) { return os.Open(path) }}, nil
}

var errEmpty = errors.New("is empty or no file")

func describe(mediaType, title string, sum digest.Digest, size int64) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: sum, Size: size, Annotations: map[string]string{ocispec.AnnotationTitle: title}}
}
