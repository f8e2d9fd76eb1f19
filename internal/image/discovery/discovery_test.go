package discovery

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/u-root/u-root/pkg/cpio"

	"github.com/farrier-dev/farrier/internal/image/uki"
)

func write(t *testing.T, file string, content []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// bzImage has the header of a kernel that says its version.
func bzImage(version string) []byte {
	k := make([]byte, 0x400)
	copy(k, "MZ")
	copy(k[0x1fe:], []byte{0x55, 0xaa})
	copy(k[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(k[0x20e:], 0x100)
	copy(k[0x300:], version+" (builder) #1\x00")
	return k
}

// program is an ELF header, with or without a dynamic linker.
func program(t *testing.T, machine elf.Machine, dynamic bool) []byte {
	t.Helper()
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 64, Phentsize: 56, Phoff: 64}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	var b bytes.Buffer
	parts := []any{&header}
	if dynamic {
		header.Phnum = 1
		parts = append(parts, elf.Prog64{Type: uint32(elf.PT_INTERP)})
	}
	for _, part := range parts {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// module is the smallest that says what it is for.
func module(t *testing.T) []byte {
	t.Helper()
	const names, info = "\x00.modinfo\x00.shstrtab\x00", "alias=virtio:d00000001v*\x00firmware=net/card.bin\x00firmware=net/none.bin\x00"
	var b bytes.Buffer
	header := elf.Header64{Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	header.Shoff = uint64(64 + len(info) + len(names))
	sections := []elf.Section64{{}, {Name: 1, Type: 1, Off: 64, Size: uint64(len(info))}, {Name: 10, Type: 3, Off: uint64(64 + len(info)), Size: uint64(len(names))}}
	for _, part := range []any{header, []byte(info + names), sections} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// parts are those of a small image, in a folder of their own.
func parts(t *testing.T) Parts {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "boot/vmlinuz-6.1.0-9"), bzImage("6.1.0-9"))
	write(t, filepath.Join(root, "lib/modules/6.1.0-9/kernel/drivers/net/virtio_net.ko"), module(t))
	write(t, filepath.Join(root, "firmware/net/card.bin.xz"), []byte("firmware"))
	kernel, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	return Parts{
		Kernel: kernel, Agent: write(t, filepath.Join(root, "metalprobe"), program(t, elf.EM_X86_64, false)), Version: "v1",
		Firmware: filepath.Join(root, "firmware"), PCINames: write(t, filepath.Join(root, "pci.ids"), []byte("8086  Intel\n")),
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	if _, err := Find(root); !errors.Is(err, ErrNoKernel) {
		t.Errorf("an empty folder: %v", err)
	}
	for _, version := range []string{"6.1.0-9-cloud-amd64", "6.1.0-56-cloud-amd64", "5.10.0-100-cloud-amd64"} {
		write(t, filepath.Join(root, "boot/vmlinuz-"+version), nil)
		write(t, filepath.Join(root, "lib/modules", version, "modules.order"), nil)
	}
	write(t, filepath.Join(root, "boot/vmlinuz-9.0"), nil) // its modules are not there
	write(t, filepath.Join(root, "lib/modules/8.0/modules.order"), nil)
	got, err := Find(root)
	if err != nil || got.Version != "6.1.0-56-cloud-amd64" {
		t.Errorf("%+v, %v", got, err)
	}
	write(t, filepath.Join(root, "usr/lib/modules/6.12.1-300.fc41.x86_64/vmlinuz"), nil)
	got, err = Find(root)
	if err != nil || got.Version != "6.12.1-300.fc41.x86_64" {
		t.Errorf("Fedora: %+v, %v", got, err)
	}
}

func TestBuildIsReproducible(t *testing.T) {
	first, second := parts(t), parts(t) // the same in another folder, at another time
	first.BootCA = nil
	a, err := Build(first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Build(second)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two images of the same parts:\n%s", diff)
	}
}

func TestInitramfs(t *testing.T) {
	image, err := Build(parts(t))
	if err != nil {
		t.Fatal(err)
	}
	if image.Architecture != "amd64" || image.KernelVersion != "6.1.0-9" || image.Modules != 1 || image.UKI != nil {
		t.Errorf("%s, Linux %s, %d modules, UKI of %d bytes", image.Architecture, image.KernelVersion, image.Modules, len(image.UKI))
	}
	modes := map[string]string{}
	for _, r := range records(t, image.Initramfs) {
		modes[r.Name] = cpioMode(r)
		if r.MTime != 0 || r.UID != 0 || r.GID != 0 {
			t.Errorf("%s has a time or an owner: %+v", r.Name, r.Info)
		}
		if parent := filepath.Dir(r.Name); parent != "." && modes[parent] == "" {
			t.Errorf("%s comes before its folder", r.Name)
		}
	}
	for name, want := range map[string]string{
		"init": "100755", "dev/console": "20600", "etc": "40755", "tmp": "40755", "lib/modules/6.1.0-9/modules.dep": "100644",
		"lib/modules/6.1.0-9/kernel/drivers/net/virtio_net.ko": "100644", "lib/firmware/net/card.bin.xz": "100644", "usr/share/misc/pci.ids": "100644",
	} {
		if modes[name] != want {
			t.Errorf("%s has mode %q, want %s", name, modes[name], want)
		}
	}
}

func records(t *testing.T, initramfs []byte) []cpio.Record {
	t.Helper()
	decoder, err := zstd.NewReader(bytes.NewReader(initramfs))
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	plain, err := io.ReadAll(decoder)
	if err != nil {
		t.Fatal(err)
	}
	all, err := cpio.ReadAllRecords(cpio.Newc.Reader(bytes.NewReader(plain)))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func cpioMode(r cpio.Record) string {
	const octal = "01234567"
	var digits []byte
	for n := r.Mode; n > 0; n /= 8 {
		digits = append([]byte{octal[n%8]}, digits...)
	}
	return string(digits)
}

func TestBuildRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Parts)
		want   string
	}{
		"a dynamic agent":           {func(p *Parts) { write(t, p.Agent, program(t, elf.EM_X86_64, true)) }, "CGO_ENABLED=0"},
		"an agent for arm64":        {func(p *Parts) { write(t, p.Agent, program(t, elf.EM_AARCH64, false)) }, "kernel for amd64"},
		"a script as agent":         {func(p *Parts) { write(t, p.Agent, []byte("#!/bin/sh")) }, "not a program"},
		"no agent":                  {func(p *Parts) { p.Agent += "x" }, "agent"},
		"modules of another kernel": {func(p *Parts) { write(t, p.Kernel.Image, bzImage("6.1.0-8")) }, "is version 6.1.0-8"},
		"no kernel":                 {func(p *Parts) { write(t, p.Kernel.Image, []byte("text")) }, "not a kernel"},
		"no certificates":           {func(p *Parts) { p.BootCA = []byte("text") }, "no PEM certificate"},
		"a broken pattern":          {func(p *Parts) { p.Modules = []string{"["} }, "module pattern"},
		"no firmware folder":        {func(p *Parts) { p.Firmware += "x" }, "firmware"},
		"a bad stub":                {func(p *Parts) { p.Stub = p.Agent }, "EFI stub"},
		"a line in the line":        {func(p *Parts) { p.Stub, p.CommandLine = p.Agent, "a\nb" }, "printable"},
	} {
		t.Run(name, func(t *testing.T) {
			p := parts(t)
			tc.change(&p)
			if _, err := Build(p); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	p := parts(t)
	p.Modules = []string{"nvme", "virtio_net"}
	if image, err := Build(p); err != nil || !cmp.Equal(image.Unused, []string{"nvme"}) {
		t.Errorf("unused %q, %v", image.Unused, err)
	}
}

// Budgets of a discovery image with the modules of Debian's cloud kernel, and of the agent in it.
const (
	mostImage = 20_000_000
	mostAgent = 8_000_000
)

// TestSizes builds the image of a real kernel: below bin/e2e, where make e2e unpacks one, or of this system.
func TestSizes(t *testing.T) {
	const stub = "/usr/lib/systemd/boot/efi/linuxx64.efi.stub"
	var kernel Kernel
	err := ErrNoKernel
	for _, root := range []string{"../../../bin/e2e", "/"} {
		if kernel, err = Find(root); err == nil && strings.Contains(kernel.Version, "cloud-amd64") {
			break
		}
	}
	if err != nil || !strings.Contains(kernel.Version, "cloud-amd64") {
		t.Skipf("no kernel of the Debian package linux-image-cloud-amd64 below bin/e2e (hack/e2e-packages.sh) or /: %v", err)
	}
	agent := filepath.Join(t.TempDir(), "metalprobe")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", agent, "../../../cmd/metalprobe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the agent: %v\n%s", err, out)
	}
	p := Parts{Kernel: kernel, Agent: agent, Version: "v1"}
	if _, err := os.Stat(stub); err == nil {
		p.Stub = stub
	}
	image, err := Build(p)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(agent)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("agent %d bytes, kernel %d, initramfs %d with %d modules, UKI %d", info.Size(), len(image.Kernel), len(image.Initramfs), image.Modules, len(image.UKI))
	if info.Size() > mostAgent {
		t.Errorf("the agent has %d bytes, more than %d", info.Size(), mostAgent)
	}
	if size := len(image.Kernel) + len(image.Initramfs); size > mostImage {
		t.Errorf("kernel and initramfs have %d bytes, more than %d", size, mostImage)
	}
	if p.Stub == "" {
		return
	}
	read, err := uki.Read(image.UKI)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read.Section(uki.SectionKernel), image.Kernel) || !bytes.Equal(read.Section(uki.SectionInitramfs), image.Initramfs) || uki.PCR11(read) != image.PCR11 {
		t.Error("the UKI is not made of kernel and initramfs")
	}
}
