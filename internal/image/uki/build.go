package uki

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Section is one of those that the stub looks for, such as .linux.
type Section struct {
	Name    string
	Content []byte
}

// Names of sections.
const (
	SectionOSRelease   = ".osrel"
	SectionCommandLine = ".cmdline"
	SectionInitramfs   = ".initrd"
	SectionKernel      = ".linux"
)

// Parts is what an image is made of.
type Parts struct {
	Stub        []byte // systemd's, of the package systemd-boot-efi or systemd-boot
	Kernel      []byte
	Initramfs   []byte
	CommandLine string
	OSRelease   string // os-release(5)
}

// sections are in the order of the file. The kernel comes last: it may need room behind it.
func (p Parts) sections() []Section {
	return []Section{
		{SectionOSRelease, []byte(p.OSRelease)}, {SectionCommandLine, []byte(p.CommandLine)}, {SectionInitramfs, p.Initramfs}, {SectionKernel, p.Kernel},
	}
}

const (
	// leastAlign is the page size: the stub hands sections to the kernel where they are.
	leastAlign = 0x1000
	// dataSection is IMAGE_SCN_CNT_INITIALIZED_DATA | IMAGE_SCN_MEM_READ.
	dataSection = 0x40000040
)

// Build makes an image.
func Build(p Parts) ([]byte, error) {
	stub, err := pe.NewFile(bytes.NewReader(p.Stub))
	if err != nil {
		return nil, fmt.Errorf("EFI stub: %w", err)
	}
	h, err := parseHeader(p.Stub, stub)
	if err != nil {
		return nil, fmt.Errorf("EFI stub: %w", err)
	}
	if !isStub(p.Stub, stub) {
		return nil, errors.New("EFI stub: not systemd's: has no section " + magicSection)
	}
	if got := KernelArchitecture(p.Kernel); got != h.architecture {
		return nil, fmt.Errorf("kernel is for %s and the EFI stub for %s", orUnknown(got), h.architecture)
	}
	w := writer{header: h, stub: p.Stub}
	return w.write(stub.Sections, p.sections())
}

// isStub reports whether a program is systemd's stub. That of arm64 before systemd 253 has the text behind its sections, where nothing is loaded from.
func isStub(content []byte, file *pe.File) bool {
	if file.Section(magicSection) != nil {
		return true
	}
	end := 0
	for _, s := range file.Sections {
		end = max(end, int(min(int64(s.Offset)+int64(s.Size), int64(len(content)))))
	}
	return file.Machine == pe.IMAGE_FILE_MACHINE_ARM64 && stubVersion.Match(content[end:])
}

func orUnknown(architecture string) string {
	if architecture == "" {
		return "an unknown architecture"
	}
	return architecture
}

// writer lays out a PE file.
type writer struct {
	header
	stub []byte
	out  []byte
	next uint32 // the first free address
	at   int    // of the next section header
}

// write keeps the addresses of the stub's sections and moves their bytes behind the longer headers.
func (w *writer) write(own []*pe.Section, added []Section) ([]byte, error) {
	for _, s := range added {
		if len(s.Name) > 8 || len(s.Content) == 0 || int64(len(s.Content)) > math.MaxInt32 {
			return nil, fmt.Errorf("section %s of %d bytes cannot be written", s.Name, len(s.Content))
		}
	}
	count := len(own) + len(added)
	headers := align(uint32(w.sectionTable+count*sectionBytes), w.fileAlign)
	w.out = make([]byte, headers)
	copy(w.out, w.stub[:w.sectionTable])
	w.at = w.sectionTable
	for _, s := range own {
		if s.VirtualAddress < headers {
			return nil, fmt.Errorf("EFI stub: no room for the headers of %d more sections", len(added))
		}
		raw := w.stub[min(int64(s.Offset), int64(len(w.stub))):]
		if int64(s.Size) > int64(len(raw)) {
			return nil, fmt.Errorf("EFI stub: section %s is cut short", s.Name)
		}
		copy(w.out[w.at:], w.stub[w.at:][:sectionBytes])
		w.append(raw[:s.Size], s.VirtualAddress, s.VirtualSize)
	}
	for _, s := range added {
		copy(w.out[w.at:], s.Name)
		size := uint32(len(s.Content))
		binary.LittleEndian.PutUint32(w.out[w.at+8:], size)
		binary.LittleEndian.PutUint32(w.out[w.at+36:], dataSection)
		if uint64(w.next)+uint64(size)+leastAlign > math.MaxInt32 {
			return nil, fmt.Errorf("image is larger than 2 GiB with section %s", s.Name)
		}
		w.append(s.Content, w.next, size)
	}
	w.finish(count, headers)
	return w.out, nil
}

// append writes a section and goes on to the next header. Name, size and kind are in the header already.
func (w *writer) append(content []byte, address, size uint32) {
	le := binary.LittleEndian
	raw := align(uint32(len(content)), w.fileAlign)
	le.PutUint32(w.out[w.at+12:], address)
	le.PutUint32(w.out[w.at+16:], raw)
	le.PutUint32(w.out[w.at+20:], uint32(len(w.out)))
	w.out = append(w.out, content...)
	w.out = append(w.out, make([]byte, int(raw)-len(content))...)
	w.next = align(max(w.next, address+max(size, raw)), max(w.sectionAlign, leastAlign))
	w.at += sectionBytes
}

func (w *writer) finish(count int, headers uint32) {
	le, head := binary.LittleEndian, w.out[w.header.at:]
	le.PutUint16(head[atSectionCount:], uint16(count))
	le.PutUint32(head[atSymbolTable:], 0) // symbols are for debuggers, and stay behind
	le.PutUint32(head[atSymbolCount:], 0)
	le.PutUint32(head[atSizeOfImage:], align(w.next, w.sectionAlign))
	le.PutUint32(head[atSizeOfHeaders:], headers)
	clear(head[atCertificates:][:directoryBytes]) // the signature of a stub is that of the stub alone
	putChecksum(w.out, w.header)
}

// KernelArchitecture tells for which architecture a kernel is by its header; empty: it is none that firmware starts.
func KernelArchitecture(kernel []byte) string {
	const x86Header, x86BootFlag, armMagic = 0x202, 0x1fe, 0x38
	switch {
	case len(kernel) < 0x240 || !bytes.HasPrefix(kernel, []byte("MZ")):
		return ""
	case bytes.HasPrefix(kernel[x86Header:], []byte("HdrS")) && binary.LittleEndian.Uint16(kernel[x86BootFlag:]) == 0xaa55:
		return "amd64"
	case bytes.HasPrefix(kernel[armMagic:], []byte("ARM\x64")): // Documentation/arch/arm64/booting.rst
		return "arm64"
	}
	// A compressed EFI image (CONFIG_EFI_ZBOOT) has only the PE header.
	if file, err := pe.NewFile(bytes.NewReader(kernel)); err == nil && bytes.HasPrefix(kernel[4:], []byte("zimg")) {
		return architectures[file.Machine]
	}
	return ""
}
