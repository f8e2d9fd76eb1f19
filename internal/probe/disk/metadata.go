package disk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

const (
	// edge is how much of both ends of a disk, and of each partition, is wiped. That
	// covers at the beginning: MBR and primary GPT, LVM labels and both headers of LUKS
	// 2 (the second at 4 MiB at most), MD 1.1 and 1.2, bcache, ZFS labels 0 and 1, the
	// superblocks of ext, XFS, Btrfs (64 KiB), VFAT, swap, ISO 9660, UFS, VMFS. At the
	// end: backup GPT, MD 0.90 and 1.0, DDF and IMSM, ZFS labels 2 and 3, NILFS2, UDF.
	edge = 16 << 20
	// align is a whole number of logical blocks of every disk there is.
	align = 4096
)

// superblockCopies are the places further inside at which file systems keep copies: Btrfs
// at 64 MiB, 256 GiB and 1 PiB; ext, with blocks of 4 KiB, at the start of block groups
// 1 and the powers of 3, 5 and 7, of which e2fsck tries the first.
var superblockCopies = []int64{
	64 << 20, 256 << 30, 1 << 50,
	1 * 128 << 20, 3 * 128 << 20, 5 * 128 << 20, 7 * 128 << 20, 9 * 128 << 20, 25 * 128 << 20, 27 * 128 << 20, 49 * 128 << 20,
}

// signatureExtents are all places of a disk where something says what is on it.
func signatureExtents(size int64, partitions []Extent) []Extent {
	var all []Extent
	for _, area := range append([]Extent{{0, size}}, partitions...) {
		if area.Offset < 0 || area.Length <= 0 || area.Offset >= size {
			continue // a table may say anything
		}
		area.Length = min(area.Length, size-area.Offset)
		all = append(all, Extent{area.Offset, min(edge, area.Length)})
		last := min(edge, area.Length)
		all = append(all, Extent{area.end() - last, last})
		for _, at := range superblockCopies {
			if at < area.Length {
				all = append(all, Extent{area.Offset + at, min(align, area.Length-at)})
			}
		}
	}
	return merge(all, size)
}

// merge sorts, aligns to whole blocks and joins what touches.
func merge(all []Extent, size int64) []Extent {
	for i, e := range all {
		begin := e.Offset / align * align
		end := min((e.end()+align-1)/align*align, size)
		all[i] = Extent{begin, end - begin}
	}
	slices.SortFunc(all, func(a, b Extent) int { return cmp.Compare(a.Offset, b.Offset) })
	var out []Extent
	for _, e := range all {
		if n := len(out); n > 0 && e.Offset <= out[n-1].end() {
			out[n-1].Length = max(out[n-1].end(), e.end()) - out[n-1].Offset
			continue
		}
		out = append(out, e)
	}
	return out
}

// wipeMetadata zeros every place of signatures and reads it back from the medium.
func (s *session) wipeMetadata(ctx context.Context) error {
	for _, e := range s.signatures {
		if err := s.writeZeros(ctx, e); err != nil {
			return err
		}
	}
	if err := s.dev.Sync(); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	for _, e := range s.signatures {
		if err := s.expectZeros(ctx, e); err != nil {
			return err
		}
	}
	return nil
}
