package gzipped

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"sync"
	"testing"
)

func TestWhatIsPackedCanBeUnpacked(t *testing.T) {
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			body := []byte(strings.Repeat("what a probe reports ", i))
			packed, err := Pack(body)
			if err != nil {
				t.Error(err)
				return
			}
			r, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%d bytes came back as %d: %v", len(body), len(got), err)
			}
		})
	}
	all.Wait()
}

// TestCompressorsAreUsedAgain: a new one would be 800 KiB, and with -race every fourth is.
func TestCompressorsAreUsedAgain(t *testing.T) {
	body := []byte(strings.Repeat("0123456789", 1000))
	found := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Pack(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	if got := found.AllocedBytesPerOp(); got > 400<<10 {
		t.Errorf("%d bytes are asked for to compress %d", got, len(body))
	}
}
