package kmod

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// maxModule bounds a module, and what a compressed one may become.
const maxModule = 64 << 20

// Module is a kernel module.
type Module struct {
	Name     string // as the kernel has it, with underscores
	Path     string // below the folder of modules, without the suffix of a compression
	Content  []byte // not compressed
	Aliases  []string
	Firmware []string // names of the files that it may ask for
	needs    []string // modules that have to be loaded before
}

// suffixes are those of module files, with what undoes their compression.
var suffixes = []struct {
	name string
	open func(io.Reader) (io.Reader, error)
}{
	{".ko", func(r io.Reader) (io.Reader, error) { return r, nil }},
	{".ko.xz", func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) }},
	{".ko.zst", func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxModule))
	}},
	{".ko.gz", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
}

// moduleName returns the name of the module in a file; empty: it holds none.
func moduleName(file string) string {
	for _, s := range suffixes {
		if base, ok := strings.CutSuffix(file, s.name); ok {
			return canonical(base)
		}
	}
	return ""
}

// canonical is how the kernel spells a module's name.
func canonical(name string) string { return strings.ReplaceAll(name, "-", "_") }

// read reads a module file. path is its path below the folder of modules.
func read(file, path string) (Module, error) {
	for _, s := range suffixes {
		base, ok := strings.CutSuffix(path, s.name)
		if !ok {
			continue
		}
		content, err := inflate(file, s.open)
		if err != nil {
			return Module{}, fmt.Errorf("kernel module %s: %w", file, err)
		}
		m := Module{Name: moduleName(path[strings.LastIndexByte(path, '/')+1:]), Path: base + ".ko", Content: content}
		if err := m.readInfo(); err != nil {
			return Module{}, fmt.Errorf("kernel module %s: %w", file, err)
		}
		return m, nil
	}
	return Module{}, fmt.Errorf("kernel module %s: not a name of a module", file)
}

func inflate(file string, open func(io.Reader) (io.Reader, error)) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	r, err := open(f)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(r, maxModule+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxModule {
		return nil, fmt.Errorf("is larger than %d bytes", maxModule)
	}
	return content, nil
}

// readInfo reads the section .modinfo: key=value, each with a NUL at its end.
func (m *Module) readInfo() error {
	file, err := elf.NewFile(bytes.NewReader(m.Content))
	if err != nil {
		return err
	}
	section := file.Section(".modinfo")
	if section == nil {
		return errors.New("has no section .modinfo")
	}
	info, err := section.Data()
	if err != nil {
		return err
	}
	for entry := range bytes.SplitSeq(info, []byte{0}) {
		key, value, _ := strings.Cut(string(entry), "=")
		switch key {
		case "depends":
			for name := range strings.SplitSeq(value, ",") {
				if name != "" {
					m.needs = append(m.needs, canonical(name))
				}
			}
		case "softdep":
			m.needs = append(m.needs, softDependencies(value)...)
		case "alias":
			m.Aliases = append(m.Aliases, value)
		case "firmware":
			m.Firmware = append(m.Firmware, value)
		}
	}
	return nil
}

// softDependencies are those that modprobe(8) would load before: "pre: a b post: c".
func softDependencies(value string) []string {
	var names []string
	before := false
	for word := range strings.FieldsSeq(value) {
		switch {
		case strings.HasSuffix(word, ":"):
			before = word == "pre:"
		case before:
			names = append(names, canonical(word))
		}
	}
	return names
}
