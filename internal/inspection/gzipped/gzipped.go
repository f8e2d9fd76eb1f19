package gzipped

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"sync"
)

var writers sync.Pool // of *gzip.Writer

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
