package disk

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// signature is something that blkid, mdadm, LVM or ZFS recognise. It knows nothing of the code
// under test: where it is follows from the documents of each format.
type signature struct {
	name  string
	magic string
	// at is the offset within an area of a length; negative: not in one so small.
	at func(length int64) int64
}

func fixed(at int64) func(int64) int64 {
	return func(length int64) int64 {
		if at+4096 > length {
			return -1
		}
		return at
	}
}

func fromEnd(back int64) func(int64) int64 { return func(length int64) int64 { return length - back } }

var signatures = []signature{
	{"MBR", "\x55\xaa", fixed(510)},
	{"GPT", "EFI PART", fixed(512)},
	{"GPT on 4096", "EFI PART", fixed(4096)},
	{"GPT backup", "EFI PART", fromEnd(512)},
	{"MD 0.90", "\xfc\x4e\x2b\xa9", func(n int64) int64 { return n&^0xffff - 0x10000 }},
	{"MD 1.0", "\xfc\x4e\x2b\xa9", func(n int64) int64 { return (n/512 - 16) &^ 7 * 512 }},
	{"MD 1.1", "\xfc\x4e\x2b\xa9", fixed(0)},
	{"MD 1.2", "\xfc\x4e\x2b\xa9", fixed(4096)},
	{"LVM 2", "LABELONE", fixed(512)},
	{"LUKS 1", "LUKS\xba\xbe\x00\x01", fixed(0)},
	{"LUKS 2, second header", "SKUL\xba\xbe\x00\x02", fixed(0x4000)},
	{"LUKS 2, largest header", "SKUL\xba\xbe\x00\x02", fixed(0x400000)},
	{"ext", "\x53\xef", fixed(1024 + 56)},
	{"ext, group 1", "\x53\xef", fixed(128<<20 + 56)},
	{"XFS", "XFSB", fixed(0)},
	{"Btrfs", "_BHRfS_M", fixed(64<<10 + 64)},
	{"Btrfs, first mirror", "_BHRfS_M", fixed(64<<20 + 64)},
	{"ZFS, label 0", "\x0c\xb1\xba\x00\x00\x00\x00\x00", fixed(128 << 10)},
	{"ZFS, label 1", "\x0c\xb1\xba\x00\x00\x00\x00\x00", fixed(256<<10 + 128<<10)},
	{"ZFS, label 2", "\x0c\xb1\xba\x00\x00\x00\x00\x00", func(n int64) int64 { return n&^(256<<10-1) - 512<<10 + 128<<10 }},
	{"ZFS, label 3", "\x0c\xb1\xba\x00\x00\x00\x00\x00", func(n int64) int64 { return n&^(256<<10-1) - 256<<10 + 128<<10 }},
	{"VFAT", "FAT32   ", fixed(82)},
	{"swap", "SWAPSPACE2", fixed(4096 - 10)},
	{"bcache", "\xc6\x85\x73\xf6\x4e\x1a\x45\xca", fixed(4096 + 24)},
	{"DDF", "\xde\x11\xde\x11", fromEnd(512)},
	{"IMSM", "Intel Raid ISM Cfg Sig. ", fromEnd(1024)},
	{"NILFS 2, backup", "\x34\x34", func(n int64) int64 { return n&^4095 - 4096 + 6 }},
	{"ISO 9660", "CD001", fixed(32768 + 1)},
}

// scan is the independent reader.
func scan(m *medium, areas []Extent) []string {
	var out []string
	for _, a := range areas {
		for _, s := range signatures {
			if at := s.at(a.Length); at >= 0 && m.has(s.magic, a.Offset+at) {
				out = append(out, fmt.Sprintf("%s at %d in %d+%d", s.name, at, a.Offset, a.Length))
			}
		}
	}
	return out
}

const mib = 1 << 20

// TestMetadataProperty places signatures on disks of all sizes and in partitions of all kinds
// of tables, and looks for them afterwards.
func TestMetadataProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(
			rapid.Int64Range(8, 4096),           // smaller than both ends
			rapid.Int64Range(4096, 70_000),      // the ends touch, or nearly
			rapid.Int64Range(70_000, 4_000_000), // up to 2 GB
		).Draw(t, "sectors") * 512
		m := newMedium(size)
		areas := []Extent{{0, size}}
		var known []Extent
		switch table := rapid.SampledFrom([]string{"none", "gpt", "mbr", "kernel"}).Draw(t, "table"); table {
		case "none":
		case "kernel": // a table that only the kernel can read
			known = drawPartitions(t, size)
			areas = append(areas, known...)
		default:
			if parts := drawPartitions(t, size); len(parts) > 0 {
				areas = append(areas, parts...)
				placeSignatures(t, m, areas)
				if table == "gpt" {
					writeGPT(m, parts, rapid.Bool().Draw(t, "only the backup"))
				} else {
					writeMBR(m, parts)
				}
			}
		}
		if len(known) > 0 || len(areas) == 1 {
			placeSignatures(t, m, areas)
		}
		r := one(t, Disk{Partitions: known}, m, inspection.CleanMetadata)
		if r.Result != inspection.CleanedOK || r.Method != "metadata" {
			t.Fatalf("record %+v", r)
		}
		if left := scan(m, areas); left != nil {
			t.Errorf("%d bytes, still there: %q", size, left)
		}
	})
}

func placeSignatures(t *rapid.T, m *medium, areas []Extent) {
	for _, a := range areas {
		for _, s := range rapid.SliceOfN(rapid.SampledFrom(signatures), 0, 6).Draw(t, "signatures") {
			if at := s.at(a.Length); at >= 0 && at+int64(len(s.magic)) <= a.Length {
				m.put(s.magic, a.Offset+at)
			}
		}
	}
}

// drawPartitions lays out areas one after another, with gaps.
func drawPartitions(t *rapid.T, size int64) []Extent {
	var out []Extent
	at := int64(mib)
	for range rapid.IntRange(1, 6).Draw(t, "partitions") {
		length := rapid.Int64Range(1, max(size/512/3, 2)).Draw(t, "sectors") * 512
		// The backup GPT needs 33 sectors.
		if at+length > size-33*512 {
			break
		}
		out = append(out, Extent{at, length})
		at += length + rapid.Int64Range(1, 4096).Draw(t, "gap")*512
	}
	return out
}

func writeGPT(m *medium, parts []Extent, onlyBackup bool) {
	last := m.size/512 - 1
	entries := make([]byte, 128*128)
	for i, p := range parts {
		e := entries[128*i:]
		copy(e, "some type and id")
		binary.LittleEndian.PutUint64(e[32:], uint64(p.Offset/512))
		binary.LittleEndian.PutUint64(e[40:], uint64(p.end()/512-1))
	}
	for _, at := range []struct{ header, entries int64 }{{1, 2}, {last, last - 32}} {
		if onlyBackup && at.header == 1 {
			m.put(string(make([]byte, 2048)), 512)
			continue
		}
		header := make([]byte, 512)
		copy(header, "EFI PART")
		binary.LittleEndian.PutUint64(header[72:], uint64(at.entries))
		binary.LittleEndian.PutUint32(header[80:], 128)
		binary.LittleEndian.PutUint32(header[84:], 128)
		m.put(string(entries), at.entries*512)
		m.put(string(header), at.header*512)
	}
}

// writeMBR has one primary partition; all others are logical, with their tables in the sector
// before each.
func writeMBR(m *medium, parts []Extent) {
	entry := func(table []byte, i int, kind byte, start, count int64) {
		e := table[446+16*i:]
		e[4] = kind
		binary.LittleEndian.PutUint32(e[8:], uint32(start))
		binary.LittleEndian.PutUint32(e[12:], uint32(count))
	}
	put := func(table []byte, sector int64) {
		table[510], table[511] = 0x55, 0xaa
		m.put(string(table), sector*512)
	}
	mbr := make([]byte, 512)
	entry(mbr, 0, 0x83, parts[0].Offset/512, parts[0].Length/512)
	if len(parts) > 1 {
		base := parts[1].Offset/512 - 1
		entry(mbr, 1, 0x05, base, m.size/512-base)
		for i, p := range parts[1:] {
			ebr, own := make([]byte, 512), p.Offset/512-1
			entry(ebr, 0, 0x83, 1, p.Length/512)
			if i+2 < len(parts) {
				entry(ebr, 1, 0x05, parts[i+2].Offset/512-1-base, 1)
			}
			put(ebr, own)
		}
	}
	put(mbr, 0)
}

// TestScannerFindsWhatIsThere keeps the property from being empty.
func TestScannerFindsWhatIsThere(t *testing.T) {
	area := Extent{mib, 300 * mib}
	for _, s := range signatures {
		m := newMedium(400 * mib)
		m.put(s.magic, area.Offset+s.at(area.Length))
		if found := scan(m, []Extent{area}); len(found) == 0 {
			t.Errorf("%s is not found", s.name)
		}
	}
}

func TestSignatureExtents(t *testing.T) {
	for name, tc := range map[string]struct {
		size  int64
		parts []Extent
		want  []Extent
	}{
		"tiny":      {512, nil, []Extent{{0, 512}}},
		"both ends": {32 * mib, nil, []Extent{{0, 32 * mib}}},
		"odd size":  {48*mib + 512, nil, []Extent{{0, 16 * mib}, {32 * mib, 16*mib + 512}}},
		"mirror":    {100 * mib, nil, []Extent{{0, 16 * mib}, {64 * mib, 4096}, {84 * mib, 16 * mib}}},
		"partition": {200 * mib, []Extent{{50 * mib, 100 * mib}}, []Extent{
			{0, 16 * mib}, {50 * mib, 16 * mib}, {114 * mib, 4096}, {128 * mib, 4096}, {134 * mib, 16 * mib}, {184 * mib, 16 * mib},
		}},
		"nonsense": {40 * mib, []Extent{{-5, 10}, {1 << 60, 1 << 60}, {39 * mib, 1 << 62}, {10, -1}}, []Extent{{0, 16 * mib}, {24 * mib, 16 * mib}}},
	} {
		got := signatureExtents(tc.size, tc.parts)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func FuzzReadPartitions(f *testing.F) {
	m := newMedium(4 * mib)
	writeGPT(m, []Extent{{mib, mib}}, false)
	seed := make([]byte, 8192)
	_, _ = m.ReadAt(seed, 0)
	f.Add(seed)
	writeMBR(m, []Extent{{mib, mib}, {3 * mib, 4096}})
	_, _ = m.ReadAt(seed, 0)
	f.Add(seed)
	f.Fuzz(func(t *testing.T, image []byte) {
		m := newMedium(2 * mib)
		m.put(string(image[:min(len(image), 2*mib)]), 0)
		for _, e := range signatureExtents(m.size, readPartitions(m)) {
			if e.Offset < 0 || e.Length <= 0 || e.end() > m.size {
				t.Errorf("extent %+v is not on the disk", e)
			}
		}
	})
}
