package gzipped

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"
)

var (
	writers sync.Pool // of *gzip.Writer
	readers sync.Pool // of *gzip.Reader
)

// Pack compresses a body.
func Pack(body []byte) ([]byte, error) {
	w, ok := writers.Get().(*gzip.Writer)
	if !ok {
		w = gzip.NewWriter(nil)
	}
	defer writers.Put(w)
	var packed bytes.Buffer
	w.Reset(&packed)
	if _, err := w.Write(body); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return packed.Bytes(), nil
}

// Unpack has what was packed read. It returns the error of read, or that the body was not compressed.
func Unpack(packed []byte, read func(io.Reader) error) error {
	r, ok := readers.Get().(*gzip.Reader)
	if !ok {
		r = new(gzip.Reader)
	}
	defer readers.Put(r)
	if err := r.Reset(bytes.NewReader(packed)); err != nil {
		return err
	}
	return read(r)
}
