package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/u-root/u-root/pkg/cpio"
)

// Where the kernel is, if not in /boot; the modules are below lib/modules beside its boot folder.
const kernelVariable = "FARRIER_E2E_KERNEL"

// modules are what a network card of QEMU needs of Debian's cloud kernel, in the order of their dependence.
var modules = []string{
	"virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "failover", "net_failover", "virtio_net",
}

// kernel finds a kernel image and the folder of its modules.
func kernel(t *testing.T) (image, folder string) {
	t.Helper()
	image = os.Getenv(kernelVariable)
	if image == "" {
		found, err := filepath.Glob("/boot/vmlinuz-*-cloud-amd64")
		if err != nil || len(found) == 0 {
			t.Fatalf("no /boot/vmlinuz-*-cloud-amd64 (Debian package linux-image-cloud-amd64); %s may name another", kernelVariable)
		}
		slices.Sort(found)
		image = found[len(found)-1]
	}
	version := strings.TrimPrefix(filepath.Base(image), "vmlinuz-")
	return image, filepath.Join(filepath.Dir(image), "..", "lib", "modules", version)
}

// kernelImage is what the kernel's file holds.
func kernelImage(t *testing.T) []byte {
	t.Helper()
	path, _ := kernel(t)
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// initramfs holds the guest, the modules it loads and a marker by which it is known.
func initramfs(t *testing.T, marker string) []byte {
	t.Helper()
	return trustingInitramfs(t, marker, nil)
}

// tenant is a guest that leaves something on its disk and stays, at an address of its network.
type tenant struct{ address, pattern string }

// trustingInitramfs also holds the authorities, PEM, that the guest trusts, and more files.
func trustingInitramfs(t *testing.T, marker string, authorities []byte, more ...cpio.Record) []byte {
	t.Helper()
	return tenantInitramfs(t, marker, authorities, tenant{}, more...)
}

// tenantInitramfs also holds what the guest does beside saying who it is.
func tenantInitramfs(t *testing.T, marker string, authorities []byte, as tenant, more ...cpio.Record) []byte {
	t.Helper()
	guest := filepath.Join(t.TempDir(), "init")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", guest, "./guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, out)
	}
	program, err := os.ReadFile(guest)
	if err != nil {
		t.Fatal(err)
	}
	_, folder := kernel(t)
	records := []cpio.Record{
		cpio.Directory("dev", 0o755), cpio.CharDev("dev/console", 0o600, 5, 1), // before /init runs, its output is opened there
		cpio.StaticFile("init", string(program), 0o755),
		cpio.StaticFile("marker", marker, 0o644),
		cpio.StaticFile("ca.crt", string(authorities), 0o644),
		cpio.StaticFile("address", as.address, 0o644),
		cpio.StaticFile("pattern", as.pattern, 0o644),
		cpio.Directory("modules", 0o755),
		cpio.StaticFile("modules/order", strings.Join(modules, ".ko\n")+".ko\n", 0o644),
	}
	for _, m := range modules {
		records = append(records, cpio.StaticFile("modules/"+m+".ko", string(module(t, folder, m)), 0o644))
	}
	records = append(records, more...)
	var archive bytes.Buffer
	w := cpio.Newc.Writer(&archive)
	if err := cpio.WriteRecords(w, records); err != nil {
		t.Fatal(err)
	}
	if err := cpio.WriteTrailer(w); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// module reads one kernel module. Debian 12 does not compress them.
func module(t *testing.T, folder, name string) []byte {
	t.Helper()
	var content []byte
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != name+".ko" {
			return err
		}
		content, err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if content == nil {
		t.Fatalf("no module %s.ko below %s", name, folder)
	}
	return content
}

// uki puts kernel, initramfs and a command line with these arguments behind systemd's EFI stub, which starts them.
func uki(t *testing.T, initramfs []byte, arguments ...string) []byte {
	t.Helper()
	const stub = "/usr/lib/systemd/boot/efi/linuxx64.efi.stub"
	if _, err := os.Stat(stub); err != nil {
		t.Fatalf("%v (Debian package systemd-boot-efi)", err)
	}
	dir := t.TempDir()
	image, _ := kernel(t)
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	out := filepath.Join(dir, "image.efi")
	var args []string
	// The addresses leave room between the stub, which ends below the first, and each section.
	for _, s := range []struct {
		name, path string
		at         uint64
	}{
		{".cmdline", write("cmdline", []byte(strings.Join(append([]string{"console=ttyS0,115200"}, arguments...), " ")+"\x00")), 0x30000},
		{".linux", image, 0x2000000},
		{".initrd", write("initrd", initramfs), 0x4000000},
	} {
		args = append(args, "--add-section", s.name+"="+s.path, "--change-section-vma", fmt.Sprintf("%s=%#x", s.name, s.at))
	}
	if msg, err := exec.Command("objcopy", append(args, stub, out)...).CombinedOutput(); err != nil {
		t.Fatalf("objcopy: %v\n%s", err, msg)
	}
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
