package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// published are the files of each operating system on the page, as their distributions name them, with what such files begin with.
var published = map[string]map[string]string{
	"Flatcar": {"flatcar_production_pxe.vmlinuz": "linux", "flatcar_production_pxe_image.cpio.gz": "gzip"},
	"Fedora CoreOS": {
		"fedora-coreos-42.20250803.3.0-live-kernel.x86_64": "linux", "fedora-coreos-42.20250803.3.0-live-initramfs.x86_64.img": "zstd", "fedora-coreos-42.20250803.3.0-live-rootfs.x86_64.img": "cpio",
	},
	"Talos":  {"vmlinuz-amd64": "linux", "initramfs-amd64.xz": "xz"},
	"Ubuntu": {"casper/vmlinuz": "linux", "casper/initrd": "zstd"},
}

// archive begins as a cpio archive does (Documentation/driver-api/early-userspace/buffer-format.rst).
const archive = "070701"

// contentOf is a small file of a kind.
func contentOf(t *testing.T, kind string) []byte {
	t.Helper()
	switch kind {
	case "gzip":
		return squeezed(t, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	case "xz":
		return squeezed(t, func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) })
	case "zstd":
		return squeezed(t, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })
	case "cpio":
		return []byte(archive)
	}
	kernel := make([]byte, 0x1000) // of x86: Documentation/arch/x86/boot.rst
	copy(kernel, "MZ")
	copy(kernel[0x1fe:], []byte{0x55, 0xaa})
	copy(kernel[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(kernel[0x206:], 0x20f)
	return kernel
}

// squeezed is an archive as a compression has it.
func squeezed(t *testing.T, how func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := how(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, archive); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestOperatingSystems runs the commands of the page on files as the distributions publish them, and a machine can boot what they make.
func TestOperatingSystems(t *testing.T) {
	text, err := os.ReadFile("../../docs/discovery-image.md")
	if err != nil {
		t.Fatal(err)
	}
	_, all, found := strings.Cut(string(text), "## Pack an operating system")
	if !found {
		t.Fatal("the page packs no operating system")
	}
	pack := regexp.MustCompile(`(?m)^\$ farrier (image pack (?:.*\\\n)*.*)$`)
	for _, section := range strings.Split(all, "\n### ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		t.Run(title, func(t *testing.T) {
			files := published[title]
			folder := t.TempDir()
			for name, kind := range files {
				path := filepath.Join(folder, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, contentOf(t, kind), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			lines := pack.FindAllStringSubmatch(body, -1)
			if len(lines) != 1 || len(files) == 0 {
				t.Fatalf("%d commands for %d files", len(lines), len(files))
			}
			image := "oci:" + filepath.Join(folder, "image")
			var args []string
			used := 0
			for _, word := range strings.Fields(strings.ReplaceAll(lines[0][1], "\\\n", " ")) {
				switch matches, err := filepath.Glob(filepath.Join(folder, word)); {
				case err != nil:
					t.Fatal(err)
				case strings.HasPrefix(word, "registry.example/"):
					args = append(args, image)
				case len(matches) == 1: // the shell does that
					args = append(args, matches[0])
					used++
				default:
					args = append(args, word)
				}
			}
			if used != len(files) {
				t.Errorf("the command uses %d of %d files: %q", used, len(files), args)
			}
			for _, line := range [][]string{args, {"image", "inspect", image}} {
				var stdout, stderr bytes.Buffer
				if code := Main(slices.Clone(line), &stdout, &stderr); code != 0 {
					t.Errorf("%q: exit code %d\n%s%s", line, code, stdout.String(), stderr.String())
				}
			}
		})
		delete(published, title)
	}
	if len(published) > 0 {
		t.Errorf("the page lacks %v", published)
	}
}
