package uki

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
)

// magicSection holds the name and the version of the stub.
const magicSection = ".sdmagic"

var stubVersion = regexp.MustCompile(`systemd-stub (([0-9]+)[^ ]*)`)

// Image is what is in a file.
type Image struct {
	Architecture string
	Sections     []Section
	// StubVersion is what the stub says of itself, empty: nothing.
	StubVersion string
	// Signatures is how many signatures it has. Whether firmware trusts them is for the firmware to say.
	Signatures int

	stubMajor int
}

// Read reads an image. Its sections are parts of content, not copies.
func Read(content []byte) (Image, error) {
	file, err := pe.NewFile(bytes.NewReader(content))
	if err != nil {
		return Image{}, fmt.Errorf("unified kernel image: %w", err)
	}
	h, err := parseHeader(content, file)
	if err != nil {
		return Image{}, fmt.Errorf("unified kernel image: %w", err)
	}
	image := Image{Architecture: h.architecture, Signatures: len(certificates(content, h))}
	for _, s := range file.Sections {
		size := min(int64(s.VirtualSize), int64(s.Size)) // what is behind is padding
		if int64(s.Offset)+size > int64(len(content)) {
			return Image{}, fmt.Errorf("unified kernel image: section %s is cut short", s.Name)
		}
		image.Sections = append(image.Sections, Section{s.Name, content[s.Offset:][:size]})
	}
	if told := stubVersion.FindSubmatch(image.Section(magicSection)); told != nil {
		image.StubVersion = string(told[1])
		image.stubMajor, _ = strconv.Atoi(string(told[2])) // digits; one that is too long is new enough
	}
	return image, nil
}

// Section returns the content of a section, nil: there is none.
func (i Image) Section(name string) []byte {
	for _, s := range i.Sections {
		if s.Name == name {
			return s.Content
		}
	}
	return nil
}

// Architecture tells from the first bytes of a file for which architecture an EFI program is; empty: it is none that is known.
func Architecture(head []byte) string {
	if len(head) < 0x40 || !bytes.HasPrefix(head, []byte("MZ")) {
		return ""
	}
	at := int64(binary.LittleEndian.Uint32(head[0x3c:]))
	if at+6 > int64(len(head)) || !bytes.HasPrefix(head[at:], []byte("PE\x00\x00")) {
		return ""
	}
	return architectures[binary.LittleEndian.Uint16(head[at+atMachine:])]
}
