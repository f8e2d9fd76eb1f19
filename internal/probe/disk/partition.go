package disk

import (
	"bytes"
	"encoding/binary"
	"math"
)

const (
	// maxPartitions bounds how far a table is believed.
	maxPartitions = 256
	// maxTable is more than the 128 entries that GPTs have.
	maxTable = 1 << 20

	mbrEntries   = 446
	mbrEntrySize = 16
)

// readPartitions lists what the partition tables on a disk point to, for the kernel knows
// only the tables it trusts and a wipe should not trust any: checksums are not looked at,
// and primary and backup GPT both count. What cannot be read has nothing to say.
func readPartitions(dev Device) []Extent {
	var out []Extent
	for _, sector := range []int64{512, 4096} {
		out = append(out, readMBR(dev, sector)...)
		out = append(out, readGPT(dev, sector, sector)...)
		out = append(out, readGPT(dev, sector, dev.Size()-sector)...)
	}
	return out[:min(len(out), maxPartitions)]
}

// readAligned reads any range by way of whole blocks.
func readAligned(dev Device, at, length int64) ([]byte, bool) {
	if at < 0 || length <= 0 || length > maxTable || at > dev.Size()-length {
		return nil, false
	}
	begin := at / align * align
	end := min((at+length+align-1)/align*align, dev.Size())
	buf := make([]byte, end-begin)
	if err := readFull(dev, buf, begin); err != nil {
		return nil, false
	}
	return buf[at-begin:][:length], true
}

// readMBR follows the chain of logical partitions. An extended partition is none
// itself; its tables lie at the beginnings of the areas it is divided into.
func readMBR(dev Device, sector int64) []Extent {
	var out []Extent
	table, ok := readAligned(dev, 0, 512)
	if !ok || table[510] != 0x55 || table[511] != 0xaa {
		return nil
	}
	for i := range 4 {
		kind, e := mbrEntry(table, i, sector)
		if extended(kind) {
			out = append(out, readEBRs(dev, e.Offset, sector)...)
		} else if kind != 0 {
			out = append(out, e)
		}
	}
	return out
}

// readEBRs: of each table the first entry is relative to the table itself, and the second
// one, which leads to the next table, to the extended partition.
func readEBRs(dev Device, base, sector int64) []Extent {
	var out []Extent
	at := base
	for range maxPartitions {
		table, ok := readAligned(dev, at, 512)
		if !ok || table[510] != 0x55 || table[511] != 0xaa {
			break
		}
		out = append(out, Extent{at, sector}) // the table is a signature, too
		if kind, e := mbrEntry(table, 0, sector); kind != 0 {
			out = append(out, Extent{at + e.Offset, e.Length})
		}
		kind, next := mbrEntry(table, 1, sector)
		if !extended(kind) || next.Offset == 0 {
			break
		}
		at = base + next.Offset
	}
	return out
}

func mbrEntry(table []byte, i int, sector int64) (kind byte, e Extent) {
	entry := table[mbrEntries+i*mbrEntrySize:][:mbrEntrySize]
	start, count := binary.LittleEndian.Uint32(entry[8:]), binary.LittleEndian.Uint32(entry[12:])
	return entry[4], Extent{int64(start) * sector, int64(count) * sector}
}

func extended(kind byte) bool { return kind == 0x05 || kind == 0x0f || kind == 0x85 }

// readGPT reads the table whose header is at a place (UEFI 2.10 §5.3.2).
func readGPT(dev Device, sector, at int64) []Extent {
	header, ok := readAligned(dev, at, 92)
	if !ok || !bytes.HasPrefix(header, []byte("EFI PART")) {
		return nil
	}
	lba := binary.LittleEndian.Uint64(header[72:])
	count, size := int64(binary.LittleEndian.Uint32(header[80:])), int64(binary.LittleEndian.Uint32(header[84:]))
	if lba > math.MaxInt64/4096 || size < 128 || size > 4096 || count == 0 {
		return nil
	}
	count = min(count, maxTable/size, maxPartitions)
	table, ok := readAligned(dev, int64(lba)*sector, count*size)
	if !ok {
		return nil
	}
	out := []Extent{{int64(lba) * sector, count * size}}
	for entry := range bytesIn(table, int(size)) {
		first, last := binary.LittleEndian.Uint64(entry[32:]), binary.LittleEndian.Uint64(entry[40:])
		if bytes.Equal(entry[:16], make([]byte, 16)) || first > last || last > math.MaxInt64/4096-1 {
			continue
		}
		out = append(out, Extent{int64(first) * sector, int64(last-first+1) * sector})
	}
	return out
}

// bytesIn yields the whole pieces of b.
func bytesIn(b []byte, size int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) >= size {
			if !yield(b[:size]) {
				return
			}
			b = b[size:]
		}
	}
}
