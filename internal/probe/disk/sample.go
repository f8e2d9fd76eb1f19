package disk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
)

const (
	sampleCount = 256
	sampleBytes = 4096
)

// sample is a block of the disk as it was before.
type sample struct {
	at Extent
	// digest of what was there; zero where that was nothing to recognise: one
	// byte repeated, or not to be read.
	digest [sha256.Size]byte
}

// takeSamples reads blocks all over the disk.
func takeSamples(ctx context.Context, dev Device) ([]sample, error) {
	var out []sample
	buf := make([]byte, sampleBytes)
	for _, e := range sampleExtents(dev.Size()) {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		block, s := buf[:e.Length], sample{at: e}
		// A block that cannot be read now may be readable after: it still has to be zero
		// where the method promises that.
		if err := readFull(dev, block, e.Offset); err == nil && !monotonous(block) {
			s.digest = sha256.Sum256(block)
		}
		out = append(out, s)
	}
	return out, nil
}

// sampleExtents spreads blocks evenly, the first and the last of the disk among them.
func sampleExtents(size int64) []Extent {
	blocks := (size + sampleBytes - 1) / sampleBytes
	count := min(sampleCount, blocks)
	var out []Extent
	for i := range count {
		at := int64(0)
		if count > 1 {
			// In 128 bits this would be exact; a quotient first loses less than a block.
			at = ((blocks-1)/(count-1)*i + (blocks-1)%(count-1)*i/(count-1)) * sampleBytes
		}
		out = append(out, Extent{at, min(sampleBytes, size-at)})
	}
	return out
}

func monotonous(b []byte) bool { return bytes.Count(b, b[:1]) == len(b) }

// checkGone compares with the samples: nothing of what was there may be left, and with
// zeros there may be nothing at all.
func (s *session) checkGone(ctx context.Context, zeros bool) error {
	buf := make([]byte, sampleBytes)
	for _, old := range s.samples {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if !zeros && old.digest == [sha256.Size]byte{} {
			continue
		}
		block := buf[:old.at.Length]
		if err := readFull(s.dev, block, old.at.Offset); err != nil {
			return err
		}
		switch {
		case zeros && !isZero(block):
			return fmt.Errorf("byte %d and following are not zero", old.at.Offset)
		case !zeros && sha256.Sum256(block) == old.digest:
			return fmt.Errorf("byte %d and following are what they were", old.at.Offset)
		}
	}
	return nil
}
