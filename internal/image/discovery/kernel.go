package discovery

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/internal/image/uki"
)

// Kernel is a kernel and its modules, as files.
type Kernel struct {
	Image   string // the file
	Modules string // the folder lib/modules/VERSION
	Version string
}

// ErrNoKernel reports a folder without a kernel whose modules are there as well.
var ErrNoKernel = errors.New("no kernel with its modules")

// Find looks below root, of a system or of an unpacked package, for the newest kernel that may be read and whose modules are there:
// boot/vmlinuz-VERSION with lib/modules/VERSION, or lib/modules/VERSION/vmlinuz.
func Find(root string) (Kernel, error) {
	var found []Kernel
	var closed error // the first kernel that may not be read, as Ubuntu has it for others than root
	for _, lib := range []string{"lib/modules", "usr/lib/modules"} {
		entries, err := os.ReadDir(filepath.Join(root, lib))
		if err != nil {
			continue
		}
		for _, e := range entries {
			modules := filepath.Join(root, lib, e.Name())
			for _, image := range []string{filepath.Join(root, "boot", "vmlinuz-"+e.Name()), filepath.Join(modules, "vmlinuz")} {
				if !isFile(image) {
					continue
				}
				if err := readable(image); err != nil {
					closed = cmp.Or(closed, err)
					continue
				}
				found = append(found, Kernel{image, modules, e.Name()})
			}
		}
	}
	switch {
	case len(found) == 0 && closed != nil:
		return Kernel{}, fmt.Errorf("kernel: %w", closed)
	case len(found) == 0:
		return Kernel{}, fmt.Errorf("%w below %s (Debian: package linux-image-cloud-amd64 or linux-image-amd64)", ErrNoKernel, root)
	}
	return slices.MaxFunc(found, func(a, b Kernel) int { return compareVersions(a.Version, b.Version) }), nil
}

func readable(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return f.Close()
}

// compareVersions compares numbers as numbers and all else as text.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		x, y := leading(a), leading(b)
		if order := compareParts(x, y); order != 0 {
			return order
		}
		a, b = a[len(x):], b[len(y):]
	}
	return cmp.Compare(len(a), len(b))
}

func compareParts(x, y string) int {
	if !isDigit(x[0]) || !isDigit(y[0]) {
		return strings.Compare(x, y)
	}
	x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
}

// leading is the number, or what is no number, that a text begins with.
func leading(s string) string {
	i := 1
	for i < len(s) && isDigit(s[i]) == isDigit(s[0]) {
		i++
	}
	return s[:i]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// versionOf reads the version that a bzImage says of itself (Documentation/arch/x86/boot.rst, kernel_version); empty: it says none.
func versionOf(kernel []byte) string {
	const field, base = 0x20e, 0x200
	if len(kernel) < field+2 || !bytes.HasPrefix(kernel[0x202:], []byte("HdrS")) {
		return ""
	}
	at := base + int(binary.LittleEndian.Uint16(kernel[field:]))
	if at == base || at >= len(kernel) {
		return ""
	}
	text, _, _ := bytes.Cut(kernel[at:], []byte{0})
	version, _, _ := strings.Cut(string(text[:min(len(text), 256)]), " ")
	return version
}

// Architecture tells for which architecture a kernel is.
func Architecture(k Kernel) (string, error) {
	f, err := os.Open(k.Image)
	if err != nil {
		return "", fmt.Errorf("kernel: %w", err)
	}
	defer func() { _ = f.Close() }()
	head, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return "", fmt.Errorf("kernel: %w", err)
	}
	if architecture := uki.KernelArchitecture(head); architecture != "" {
		return architecture, nil
	}
	return "", fmt.Errorf("kernel %s: not a kernel of amd64 or arm64 that firmware starts", k.Image)
}
