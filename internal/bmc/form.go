package bmc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"path"
	"strings"
	"sync"
)

// Image is firmware that is sent to a BMC.
type Image struct {
	// Name is that of the file. A BMC may find out from it what the image is for. Without directories, and with "_" for what is no letter,
	// digit, dot, plus, minus or underscore, it is what the BMC is told.
	Name string
	// Size is how many bytes it has.
	Size int64
	// Open opens the image at its beginning. It is called once for each time that the image is sent: again after a session has ended, or
	// for another ETag. Read waits for nothing but a disk: the BMC's time goes on meanwhile. Close may come while Read runs, as a file
	// allows it.
	Open func() (io.ReadCloser, error)
}

// ErrImage marks the errors of an image that cannot be read, or is not as long as its Size. They say nothing of the BMC.
var ErrImage = errors.New("image cannot be read")

// The parts of a form (DSP0266, "Multipart HTTP push updates"), in their order.
const (
	parametersPart = "UpdateParameters"
	filePart       = "UpdateFile"
)

// maxFileName bounds what a BMC is told of the name of an image.
const maxFileName = 128

// form is a body of multipart/form-data. What stands before and after the image is known in advance, and so is the length of the whole: many
// BMCs refuse a body in chunks.
type form struct {
	contentType string
	head, tail  []byte
	image       Image
}

func newForm(parameters map[string]any, image Image) (*form, error) {
	text, err := json.Marshal(parameters)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", parametersPart, err)
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, part := range []struct {
		disposition, contentType string
		content                  []byte
	}{
		{multipartName(parametersPart), "application/json", text},
		{multipartName(filePart) + fmt.Sprintf("; filename=%q", fileName(image.Name)), "application/octet-stream", nil},
	} {
		to, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {part.disposition}, "Content-Type": {part.contentType}})
		if err != nil {
			return nil, fmt.Errorf("form: %w", err)
		}
		_, _ = to.Write(part.content) // a buffer takes everything
	}
	head := b.Len()
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("form: %w", err)
	}
	return &form{contentType: w.FormDataContentType(), head: b.Bytes()[:head], tail: b.Bytes()[head:], image: image}, nil
}

func multipartName(part string) string { return fmt.Sprintf("form-data; name=%q", part) }

// fileName makes a name that needs no quoting. The parsers of BMCs differ in how they read one that does.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._+-", r) {
			return r
		}
		return '_'
	}, name)
	name = strings.TrimLeft(name, ".")
	if name == "" || name == "_" {
		return "image.bin"
	}
	return name[max(0, len(name)-maxFileName):] // the end tells the format
}

// attach opens the image and makes the form the body of a request, as long as ctx lasts. taken is called whenever the BMC has taken what was
// read before.
func (f *form) attach(ctx context.Context, request *http.Request, taken func()) (*formBody, error) {
	file, err := f.image.Open()
	if err != nil {
		return nil, err
	}
	b := &formBody{file: file, taken: taken}
	image := &imageReader{file: file, left: f.image.Size}
	b.parts = io.MultiReader(bytes.NewReader(f.head), image, bytes.NewReader(f.tail))
	b.ended = context.AfterFunc(ctx, func() { _ = b.Close() }) // a file that hangs does not hold the request
	request.Body, request.GetBody = b, nil
	request.ContentLength = int64(len(f.head)) + f.image.Size + int64(len(f.tail))
	request.Header.Set("Content-Type", f.contentType)
	return b, nil
}

// formBody is a form on its way; nil: there is none. http.Transport reads it on a goroutine of its own, which may outlive the request.
type formBody struct {
	parts io.Reader
	taken func()
	ended func() bool

	file io.Closer
	once sync.Once

	mu     sync.Mutex
	read   bool  // to its end
	failed error // of the image
}

func (b *formBody) Read(p []byte) (int, error) {
	b.taken()
	n, err := b.parts.Read(p)
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.read = errors.Is(err, io.EOF); !b.read {
			b.failed = err
		}
	}
	return n, err
}

// Close closes the image, once.
func (b *formBody) Close() error {
	var err error
	b.once.Do(func() { err = b.file.Close() })
	return err
}

// detach ends what attach began.
func (b *formBody) detach() {
	if b != nil {
		b.ended()
		_ = b.Close()
	}
}

// whole reports whether all was read, and so nothing of the request is still to be sent.
func (b *formBody) whole() bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read
}

// failure tells why the image could not be read; nil: it could.
func (b *formBody) failure() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// imageReader reads an image that has to be as long as was said. The end of the form follows no other: no BMC shall take a part of an image
// for a whole one.
type imageReader struct {
	file io.Reader
	left int64
}

func (r *imageReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, r.end()
	}
	n, err := r.file.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	if errors.Is(err, io.EOF) {
		if err = nil; r.left > 0 {
			err = fmt.Errorf("it ends %d bytes early: %w", r.left, io.ErrUnexpectedEOF)
		}
	}
	return n, err
}

// end is io.EOF where the image ends too.
func (r *imageReader) end() error {
	n, err := io.ReadFull(r.file, make([]byte, 1))
	switch {
	case n > 0:
		return errors.New("it is longer than its size")
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return err
}
