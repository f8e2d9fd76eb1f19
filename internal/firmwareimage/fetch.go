package firmwareimage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	// answerTimeout is for a server that does not answer, stallTimeout for one that goes silent in the middle, and wholeTimeout for a slow one.
	answerTimeout = 30 * time.Second
	stallTimeout  = time.Minute
	wholeTimeout  = time.Hour
	maxRedirects  = 3
	// unknownSize is what is reserved for an image whose server does not say how large it is.
	unknownSize = 256 << 20
)

func newClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: answerTimeout}).DialContext, ResponseHeaderTimeout: answerTimeout, TLSHandshakeTimeout: answerTimeout, DisableKeepAlives: true,
			DisableCompression: true, // what is published is what is installed
		}
	}
	return &http.Client{Transport: transport, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		return nil
	}}
}

// fetch brings an image to disk and verifies it.
func (s *Store) fetch(ctx context.Context, r Request) (Image, error) {
	image := Image{Name: nameOf(r.URI), path: s.file(r.Source)}
	if r.Digest != "" {
		if digest, size, err := hashed(image.path); err == nil && digest == r.Digest {
			image.Digest, image.Size = digest, size
			return image, nil
		}
	}
	whole, cancelWhole := context.WithTimeout(ctx, wholeTimeout)
	defer cancelWhole()
	guarded, cancel := context.WithCancelCause(whole)
	defer cancel(nil)
	resp, err := s.request(guarded, r)
	if err != nil {
		return Image{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	stall := time.AfterFunc(stallTimeout, func() { cancel(fmt.Errorf("its server sent nothing for %s", stallTimeout)) })
	defer stall.Stop()
	return s.keep(image, r, resp.ContentLength, readerFunc(func(p []byte) (int, error) {
		n, err := resp.Body.Read(p)
		stall.Reset(stallTimeout)
		if err != nil && guarded.Err() != nil {
			err = context.Cause(guarded)
		}
		return n, err
	}))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (s *Store) request(ctx context.Context, r Request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URI, nil)
	if err != nil {
		return nil, err
	}
	if r.Username != "" {
		req.SetBasicAuth(r.Username, r.Password.Reveal())
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("its server answers %s", resp.Status)
	}
	return resp, nil
}

// keep writes what comes, size bytes or an unknown number where it is negative, and gives the file its name once it is verified.
func (s *Store) keep(image Image, r Request, size int64, body io.Reader) (Image, error) {
	if size > MaxSize {
		return Image{}, fmt.Errorf("%w: %d bytes, and %d at most", ErrTooLarge, size, int64(MaxSize))
	}
	room := size
	if size < 0 {
		room = min(unknownSize, s.options.Limit)
	}
	if err := os.MkdirAll(s.options.Dir, 0o700); err != nil {
		return Image{}, err
	}
	if err := s.reserve(room); err != nil {
		return Image{}, err
	}
	defer s.unreserve(room)
	part, err := os.CreateTemp(s.options.Dir, "*"+partSuffix)
	if err != nil {
		return Image{}, err
	}
	defer func() { _ = os.Remove(part.Name()) }() // it has its name by then, or is of no use
	digest, n, err := write(part, body, room)
	switch {
	case err != nil:
		return Image{}, err
	case r.Digest != "" && digest != r.Digest:
		return Image{}, fmt.Errorf("%w: SHA-256 %s", ErrDigest, digest)
	case !s.needed(r.Source):
		return Image{}, context.Canceled // its last owner has gone meanwhile
	}
	if err := os.Rename(part.Name(), image.path); err != nil {
		return Image{}, err
	}
	image.Digest, image.Size = digest, n
	return image, nil
}

// write writes at most so many bytes to a file, and closes it.
func write(f *os.File, body io.Reader, most int64) (digest string, n int64, err error) {
	hash := sha256.New()
	n, err = io.Copy(io.MultiWriter(f, hash), io.LimitReader(body, most+1))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil && n > most {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
	}
	return hex.EncodeToString(hash.Sum(nil)), n, err
}
