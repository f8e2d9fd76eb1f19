package uki

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"fmt"
)

// Offsets in the PE header (PE format, "Optional Header Windows-Specific Fields"), from the signature "PE\0\0" on. Images are PE32+.
const (
	atMachine       = 4
	atSectionCount  = 6
	atSymbolTable   = 12
	atSymbolCount   = 16
	atOptional      = 24
	atSizeOfImage   = atOptional + 56
	atSizeOfHeaders = atOptional + 60
	atChecksum      = atOptional + 64
	atDirectories   = atOptional + 112
	atCertificates  = atDirectories + 4*8 // IMAGE_DIRECTORY_ENTRY_SECURITY
	directoryBytes  = 8
	sectionBytes    = 40
	efiApplication  = 10
)

// architectures are the machines of the PE format by the name of GOARCH.
var architectures = map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}

// header is where the parts of a PE file are.
type header struct {
	at                      int // of the signature "PE\0\0"
	architecture            string
	sectionTable            int
	sectionAlign, fileAlign uint32
	certificates            pe.DataDirectory
}

// parseHeader checks what this package relies on; debug/pe has read the file before.
func parseHeader(content []byte, file *pe.File) (header, error) {
	optional, ok := file.OptionalHeader.(*pe.OptionalHeader64)
	switch {
	case !ok:
		return header{}, fmt.Errorf("not a PE32+ file")
	case optional.Subsystem != efiApplication:
		return header{}, fmt.Errorf("not an EFI application: subsystem %d", optional.Subsystem)
	case optional.NumberOfRvaAndSizes <= pe.IMAGE_DIRECTORY_ENTRY_SECURITY:
		return header{}, fmt.Errorf("has no room for a signature: %d data directories", optional.NumberOfRvaAndSizes)
	case optional.FileAlignment == 0 || optional.FileAlignment&(optional.FileAlignment-1) != 0,
		optional.SectionAlignment == 0 || optional.SectionAlignment&(optional.SectionAlignment-1) != 0:
		return header{}, fmt.Errorf("alignments %#x and %#x are not powers of two", optional.FileAlignment, optional.SectionAlignment)
	}
	architecture, ok := architectures[file.Machine]
	if !ok {
		return header{}, fmt.Errorf("machine type %#x: want amd64 or arm64", file.Machine)
	}
	h := header{
		at: int(binary.LittleEndian.Uint32(content[0x3c:])), architecture: architecture,
		sectionAlign: optional.SectionAlignment, fileAlign: optional.FileAlignment,
		certificates: optional.DataDirectory[pe.IMAGE_DIRECTORY_ENTRY_SECURITY],
	}
	h.sectionTable = h.at + atOptional + int(file.SizeOfOptionalHeader)
	if end := h.sectionTable + len(file.Sections)*sectionBytes; end > len(content) {
		return header{}, fmt.Errorf("ends within its section table")
	}
	return h, nil
}

// Size is how large a PE file is by what its beginning says: to the end of its last section, and of its signatures. 0: that does not say it.
func Size(head []byte) int64 {
	file, err := pe.NewFile(bytes.NewReader(head))
	if err != nil {
		return 0
	}
	var end int64
	for _, section := range file.Sections {
		end = max(end, int64(section.Offset)+int64(section.Size))
	}
	if optional, ok := file.OptionalHeader.(*pe.OptionalHeader64); ok && optional.NumberOfRvaAndSizes > pe.IMAGE_DIRECTORY_ENTRY_SECURITY {
		signatures := optional.DataDirectory[pe.IMAGE_DIRECTORY_ENTRY_SECURITY]
		end = max(end, int64(signatures.VirtualAddress)+int64(signatures.Size))
	}
	return end
}

func align(n, to uint32) uint32 { return (n + to - 1) &^ (to - 1) }

// checksum is the CheckSum of a PE file (ImageHlp's CheckSumMappedFile): 16-bit words added with the carry, and the length. The field
// itself counts as zero.
func checksum(content []byte, field int) uint32 {
	var sum uint32
	for i := 0; i < len(content); i += 2 {
		if i == field || i == field+2 {
			continue
		}
		word := uint32(content[i])
		if i+1 < len(content) {
			word |= uint32(content[i+1]) << 8
		}
		sum += word
		sum = sum&0xffff + sum>>16
	}
	return sum&0xffff + sum>>16 + uint32(len(content))
}

func putChecksum(content []byte, h header) {
	binary.LittleEndian.PutUint32(content[h.at+atChecksum:], checksum(content, h.at+atChecksum))
}
