package probe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/farrier-dev/farrier/internal/inspection"
)

const (
	smbiosMemoryDevice = 17
	smbiosEnd          = 127
	maxSMBIOS          = 1 << 20
	maxStructures      = 1 << 14
)

// structure is one SMBIOS structure (DSP0134 §6.1.2): formatted area and strings.
type structure struct {
	kind    byte
	area    []byte // from the header on, so that offsets are those of the standard
	strings []string
}

// structures splits the table. What is cut short ends it.
func structures(table []byte) []structure {
	var out []structure
	for len(table) >= 4 && len(out) < maxStructures {
		length := int(table[1])
		if length < 4 || length > len(table) {
			break
		}
		s := structure{kind: table[0], area: table[:length]}
		rest := table[length:]
		end := bytes.Index(rest, []byte{0, 0})
		if end < 0 {
			break
		}
		for text := range bytes.SplitSeq(rest[:end], []byte{0}) {
			s.strings = append(s.strings, strings.TrimSpace(strings.ToValidUTF8(string(text), "")))
		}
		out = append(out, s)
		if s.kind == smbiosEnd {
			break
		}
		table = rest[end+2:]
	}
	return out
}

func (s structure) byteAt(offset int) byte {
	if offset >= len(s.area) {
		return 0
	}
	return s.area[offset]
}

func (s structure) word(offset int) uint16 {
	if offset+2 > len(s.area) {
		return 0
	}
	return binary.LittleEndian.Uint16(s.area[offset:])
}

func (s structure) dword(offset int) uint32 {
	if offset+4 > len(s.area) {
		return 0
	}
	return binary.LittleEndian.Uint32(s.area[offset:])
}

// text is the string that a field has the number of.
func (s structure) text(offset int) string {
	n := int(s.byteAt(offset))
	if n == 0 || n > len(s.strings) {
		return ""
	}
	return s.strings[n-1]
}

// memoryTypes are those of DSP0134 §7.18.2 that servers have or had.
var memoryTypes = map[byte]string{
	0x03: "DRAM", 0x07: "RAM", 0x0f: "SDRAM", 0x12: "DDR", 0x13: "DDR2", 0x14: "DDR2 FB-DIMM", 0x18: "DDR3", 0x1a: "DDR4", 0x1b: "LPDDR",
	0x1c: "LPDDR2", 0x1d: "LPDDR3", 0x1e: "LPDDR4", 0x1f: "Logical non-volatile device", 0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5", 0x23: "LPDDR5",
	0x24: "HBM3",
}

// modules lists the memory devices (DSP0134 §7.18) that are there. Empty slots are none.
func modules(table []byte) []inspection.MemoryDevice {
	var out []inspection.MemoryDevice
	for _, s := range structures(table) {
		size := moduleSize(s)
		if s.kind != smbiosMemoryDevice || size == 0 {
			continue
		}
		d := inspection.MemoryDevice{
			SizeBytes: size, DeviceLocator: s.text(0x10), BankLocator: s.text(0x11), MemoryType: memoryTypes[s.byteAt(0x12)],
			Speed: transfers(s.word(0x15), s.dword(0x54)), Vendor: s.text(0x17), SerialNumber: s.text(0x18), AssetTag: s.text(0x19),
			PartNumber: s.text(0x1a), ConfiguredMemorySpeed: transfers(s.word(0x20), s.dword(0x58)),
			MinimumVoltage: volts(s.word(0x22)), MaximumVoltage: volts(s.word(0x24)), ConfiguredVoltage: volts(s.word(0x26)),
		}
		if set := s.byteAt(0x0f); set != 0 && set != 0xff { // 0: none, FFh: unknown
			d.DeviceSet = fmt.Sprint(set)
		}
		out = append(out, d)
	}
	return out
}

// moduleSize reads the two fields of §7.18.5: in MiB, or in KiB with bit 15; 7FFFh sends
// to the larger field.
func moduleSize(s structure) int64 {
	switch size := s.word(0x0c); {
	case size == 0xffff:
		return 0
	case size == 0x7fff:
		return int64(s.dword(0x1c)&0x7fffffff) << 20
	case size&0x8000 != 0:
		return int64(size&0x7fff) << 10
	default:
		return int64(size) << 20
	}
}

// transfers is a speed in MT/s; FFFFh sends to the larger field, 0 is unknown.
func transfers(speed uint16, extended uint32) string {
	n := uint32(speed)
	if speed == 0xffff {
		n = extended
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d MT/s", n)
}

func volts(millivolts uint16) string {
	if millivolts == 0 {
		return ""
	}
	return fmt.Sprintf("%g V", float64(millivolts)/1000)
}
