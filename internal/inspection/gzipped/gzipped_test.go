package gzipped

import (
	"bytes"
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
			err = Unpack(packed, func(r io.Reader) error {
				got, err := io.ReadAll(r)
				if !bytes.Equal(got, body) {
					t.Errorf("%d bytes came back as %d", len(body), len(got))
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestWhatIsDamagedIsRefused, and does not spoil what is unpacked after it.
func TestWhatIsDamagedIsRefused(t *testing.T) {
	body := []byte(strings.Repeat("0123456789", 1000))
	packed, err := Pack(body)
	if err != nil {
		t.Fatal(err)
	}
	read := func(r io.Reader) error {
		got, err := io.ReadAll(r)
		if err == nil && !bytes.Equal(got, body) {
			t.Errorf("%d bytes came back as %d", len(body), len(got))
		}
		return err
	}
	for cut := range len(packed) {
		if err := Unpack(packed[:cut], read); err == nil {
			t.Errorf("the first %d of %d bytes are unpacked", cut, len(packed))
		}
		if err := Unpack(packed, read); err != nil {
			t.Fatalf("after %d bytes: %v", cut, err)
		}
	}
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

// TestDecompressorsAreUsedAgain: a new one would be 44 KiB, and with -race every fourth is.
func TestDecompressorsAreUsedAgain(t *testing.T) {
	packed, err := Pack([]byte(strings.Repeat("0123456789", 1000)))
	if err != nil {
		t.Fatal(err)
	}
	found := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := Unpack(packed, func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }); err != nil {
				b.Fatal(err)
			}
		}
	})
	if got := found.AllocedBytesPerOp(); got > 22<<10 {
		t.Errorf("%d bytes are asked for to unpack %d", got, len(packed))
	}
}
