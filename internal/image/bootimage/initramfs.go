package bootimage

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// An initramfs is a series of cpio archives, each of which may be compressed, with zeros between them (Documentation/driver-api/early-userspace/
// buffer-format.rst of Linux). So what one file has and another adds is one file behind the other. Linux wants a plain archive to begin at a multiple of
// archiveAlignment.
const archiveAlignment = 4

// Kinds of files that are mistaken for one another, by what they begin with.
const (
	kindArchive  = "a cpio archive"
	kindSquashfs = "a squashfs file system"
	kindErofs    = "an erofs file system"
)

// magic is what a kind of file has at an offset.
type magic struct {
	kind   string
	offset int
	bytes  string
}

var magics = []magic{
	{kindArchive, 0, "070701"}, {kindArchive, 0, "070702"},
	{kindSquashfs, 0, "hsqs"}, {kindErofs, 1024, "\xe2\xe1\xf5\xe0"},
	{"a tar archive", 257, "ustar"}, {"an ISO 9660 image", 0x8001, "CD001"}, {"an ext file system", 0x438, "\x53\xef"}, {"an XFS file system", 0, "XFSB"},
	{"a qcow2 disk image", 0, "QFI\xfb"}, {"a disk image", 512, "EFI PART"}, {"a program", 0, "\x7fELF"}, {"a kernel or EFI program", 0, "MZ"},
	{"a U-Boot image", 0, "\x27\x05\x19\x56"}, {"a zip archive", 0, "PK\x03\x04"},
}

// compression is one that Linux can unpack. Without a reader it is taken on trust.
type compression struct {
	name, begins string
	reader       func(io.Reader) (io.Reader, error)
}

var compressions = []compression{
	{"gzip", "\x1f\x8b", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"xz", "\xfd7zXZ\x00", func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) }},
	{"zstd", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r, zstd.WithDecoderConcurrency(1)) }},
	{"bzip2", "BZh", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
	{"lzma", "\x5d\x00\x00", func(r io.Reader) (io.Reader, error) { return lzma.NewReader(r) }},
	{"lz4", "\x02\x21\x4c\x18", nil},
	{"lzo", "\x89LZO", nil},
}

// lookAhead is how far a file is looked into: to where the last of magics is.
const lookAhead = 0x8001 + 8

// kindOf tells what a file is, looking into what is compressed; how is the compression. An empty kind is not known, as that of a compression that we
// cannot undo.
func kindOf(r io.Reader) (kind, how string, err error) {
	buffered := bufio.NewReaderSize(r, lookAhead)
	head, err := buffered.Peek(lookAhead)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", "", err
	}
	if kind := plainKind(head); kind != "" {
		return kind, "", nil
	}
	for _, c := range compressions {
		if !bytes.HasPrefix(head, []byte(c.begins)) {
			continue
		}
		if c.reader == nil {
			return "", c.name, nil
		}
		plain, err := c.reader(buffered)
		if err != nil {
			return "", c.name, fmt.Errorf("%s: %w", c.name, err)
		}
		inner, err := io.ReadAll(io.LimitReader(plain, lookAhead))
		if err != nil && len(inner) == 0 {
			return "", c.name, fmt.Errorf("%s: %w", c.name, err)
		}
		return plainKind(inner), c.name, nil
	}
	return "", "", nil
}

func plainKind(head []byte) string {
	for _, m := range magics {
		if len(head) >= m.offset && bytes.HasPrefix(head[m.offset:], []byte(m.bytes)) {
			return m.kind
		}
	}
	return ""
}

// checkArchive refuses what Linux does not unpack into an initramfs.
func checkArchive(f *os.File) error {
	kind, how, err := kindOf(f)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", f.Name(), err)
	case kind == kindArchive, kind == "" && how != "" && !undone(how):
		return nil
	case kind == kindSquashfs || kind == kindErofs:
		return fmt.Errorf("%s: is %s, which an initramfs fetches: that is what --squashfs is for", f.Name(), named(kind, how))
	case kind == "" && how != "":
		return fmt.Errorf("%s: is compressed with %s, and what is in it is no cpio archive", f.Name(), how)
	case kind == "":
		return fmt.Errorf("%s: neither a cpio archive nor a compressed one, which Linux unpacks", f.Name())
	}
	return fmt.Errorf("%s: is %s, and Linux unpacks cpio archives", f.Name(), named(kind, how))
}

// undone reports whether we can look into a compression.
func undone(how string) bool {
	return slices.ContainsFunc(compressions, func(c compression) bool { return c.name == how && c.reader != nil })
}

func named(kind, how string) string {
	if how == "" {
		return kind
	}
	return kind + " compressed with " + how
}

// CheckSquashfs refuses what is no file system that an initramfs fetches and mounts.
func CheckSquashfs(path string) error {
	f, _, err := openFile(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	kind, how, err := kindOf(f)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case how == "" && (kind == kindSquashfs || kind == kindErofs):
		return nil
	case kind == kindArchive:
		return fmt.Errorf("%s: is %s and no file system: --rootfs adds it to the initramfs", path, named(kind, how))
	case kind == "":
		return fmt.Errorf("%s: not a squashfs file system, nor erofs", path)
	}
	return fmt.Errorf("%s: is %s and not a squashfs file system, nor erofs", path, named(kind, how))
}

// Initramfs is a layer of one or several archives, one behind the other. They are read twice, as that of File is.
func Initramfs(title string, paths ...string) (Layer, error) {
	var size int64
	for _, path := range paths {
		f, length, err := openFile(path)
		if err != nil {
			return Layer{}, err
		}
		err = checkArchive(f)
		_ = f.Close()
		if err != nil {
			return Layer{}, err
		}
		size = aligned(size) + length
	}
	open := func() (io.ReadCloser, error) { return chain(paths) }
	r, err := open()
	if err != nil {
		return Layer{}, err
	}
	defer func() { _ = r.Close() }()
	sum, err := digest.FromReader(r)
	if err != nil {
		return Layer{}, fmt.Errorf("initramfs: %w", err)
	}
	return Layer{describe(InitramfsType, title, sum, size), open}, nil
}

func aligned(size int64) int64 {
	return (size + archiveAlignment - 1) / archiveAlignment * archiveAlignment
}

// chained reads files one behind the other.
type chained struct {
	io.Reader
	files []*os.File
}

func (c chained) Close() error {
	var errs []error
	for _, f := range c.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

func chain(paths []string) (io.ReadCloser, error) {
	var c chained
	var readers []io.Reader
	var size int64
	for _, path := range paths {
		f, length, err := openFile(path)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.files = append(c.files, f)
		readers = append(readers, bytes.NewReader(make([]byte, aligned(size)-size)), f)
		size = aligned(size) + length
	}
	c.Reader = io.MultiReader(readers...)
	return c, nil
}

// openFile opens a file that is not empty.
func openFile(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() == 0) {
		err = fmt.Errorf("%s: %w", path, errEmpty)
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}
