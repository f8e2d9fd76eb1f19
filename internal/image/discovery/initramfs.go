package discovery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/u-root/u-root/pkg/cpio"

	"github.com/farrier-dev/farrier/internal/image/kmod"
)

// BootCAFile is where the agent finds the authorities of the boot server in the image.
const BootCAFile = "etc/farrier/boot-ca.crt"

// tree is the content of the initramfs.
type tree struct {
	folders map[string]bool
	records []cpio.Record
}

// newTree has what the kernel needs to start /init with a console.
func newTree() *tree {
	t := &tree{folders: map[string]bool{}}
	for _, folder := range []string{"dev", "etc", "proc", "run", "sys", "tmp"} {
		t.folder(folder)
	}
	t.records = append(t.records, cpio.CharDev("dev/console", 0o600, 5, 1), cpio.CharDev("dev/null", 0o666, 1, 3))
	return t
}

func (t *tree) folder(name string) {
	if name == "." || t.folders[name] {
		return
	}
	t.folder(path.Dir(name))
	t.folders[name] = true
	t.records = append(t.records, cpio.Directory(name, 0o755))
}

func (t *tree) file(name string, content []byte, mode uint64) {
	t.folder(path.Dir(name))
	t.records = append(t.records, cpio.StaticFile(name, string(content), mode))
}

// modules adds kernel modules and their indexes.
func (t *tree) modules(version string, chosen kmod.Chosen) {
	for _, f := range chosen.Files() {
		t.file(path.Join("lib/modules", version, f.Path), f.Content, 0o644)
	}
}

// maxFirmware bounds a file of firmware.
const maxFirmware = 64 << 20

// firmware adds the files that modules may ask for and that are there, with or without a compression that the kernel knows
// (Documentation/driver-api/firmware/fw_search_path.rst). A name may be a pattern.
func (t *tree) firmware(folder string, names []string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("firmware: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, name := range names {
		for _, suffix := range []string{"", ".xz", ".zst"} {
			files, err := fs.Glob(root.FS(), name+suffix)
			if err != nil {
				return fmt.Errorf("firmware %s: %w", name, err)
			}
			for _, file := range files {
				if err := t.firmwareFile(root, file); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (t *tree) firmwareFile(root *os.Root, name string) error {
	at := path.Join("lib/firmware", filepath.ToSlash(name))
	if t.folders[at] {
		return nil // two modules ask for it
	}
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a link to what is not installed
	}
	if err != nil {
		return fmt.Errorf("firmware: %w", err)
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, maxFirmware+1))
	if err != nil {
		return fmt.Errorf("firmware %s: %w", name, err)
	}
	if len(content) > maxFirmware {
		return fmt.Errorf("firmware %s is larger than %d bytes", name, maxFirmware)
	}
	t.folders[at] = true
	t.folder(path.Dir(at))
	t.records = append(t.records, cpio.StaticFile(at, string(content), 0o644))
	return nil
}

// archive writes a cpio archive of the kind "newc" (Documentation/driver-api/early-userspace/buffer-format.rst of Linux), compressed. Folders come before
// what is in them.
func (t *tree) archive() ([]byte, error) {
	slices.SortStableFunc(t.records, func(a, b cpio.Record) int { return strings.Compare(a.Name, b.Name) })
	var plain bytes.Buffer
	w := cpio.Newc.Writer(&plain)
	for i, record := range t.records {
		record.Ino = uint64(i + 1)
		if err := w.WriteRecord(cpio.MakeReproducible(record)); err != nil {
			return nil, fmt.Errorf("initramfs: %s: %w", record.Name, err)
		}
	}
	if err := cpio.WriteTrailer(w); err != nil {
		return nil, fmt.Errorf("initramfs: %w", err)
	}
	// One goroutine, for the bytes are to be the same everywhere.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("initramfs: %w", err)
	}
	defer func() { _ = encoder.Close() }()
	return encoder.EncodeAll(plain.Bytes(), nil), nil
}
