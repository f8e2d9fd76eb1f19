package bmc

import (
	"bytes"
	"io"
	"sync"
)

// scratch has the buffers that answers are read into. What is kept of one is a copy of its length: most BMCs do not say the length before.
var scratch = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxScratch is how large a buffer is kept, in bytes: few answers are longer.
const maxScratch = 64 << 10

// readAll reads to the end.
func readAll(r io.Reader) ([]byte, error) {
	b := scratch.Get().(*bytes.Buffer)
	defer func() {
		if b.Cap() <= maxScratch {
			b.Reset()
			scratch.Put(b)
		}
	}()
	if _, err := b.ReadFrom(r); err != nil {
		return nil, err
	}
	return bytes.Clone(b.Bytes()), nil
}
