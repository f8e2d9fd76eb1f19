package kmod

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// object is an ELF file with a section .modinfo.
func object(t *testing.T, info ...string) []byte {
	t.Helper()
	const names = "\x00.modinfo\x00.shstrtab\x00"
	data := strings.Join(info, "\x00") + "\x00"
	var b bytes.Buffer
	header := elf.Header64{Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	header.Shoff = uint64(64 + len(data) + len(names))
	sections := []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: 64, Size: uint64(len(data))},
		{Name: 10, Type: uint32(elf.SHT_STRTAB), Off: uint64(64 + len(data)), Size: uint64(len(names))},
	}
	for _, part := range []any{header, []byte(data + names), sections} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// compressed writes with one of the compressions of distributions.
func compressed(t *testing.T, content []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := open(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t *testing.T, folder, name string, content []byte) {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// folder has modules as Debian 12, Debian 13, Ubuntu and others have them.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "kernel/drivers/net/virtio_net.ko", object(t, "name=virtio_net", "alias=virtio:d00000001v*", "depends=virtio_ring,net_failover", "firmware=a/fw.bin"))
	write(t, dir, "kernel/drivers/virtio/virtio_ring.ko.xz", compressed(t, object(t, "depends=virtio"), func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }))
	write(t, dir, "kernel/drivers/virtio/virtio.ko.zst", compressed(t, object(t, "depends="), func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }))
	write(t, dir, "kernel/drivers/net/net_failover.ko.gz", compressed(t, object(t, "depends=failover"), func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }))
	write(t, dir, "kernel/drivers/scsi/a-host.ko", object(t, "alias=pci:v00001AF4d*", "softdep=pre: b_host post: virtio"))
	write(t, dir, "kernel/drivers/scsi/b_host.ko", object(t, "softdep=pre: a_host"))
	write(t, dir, "kernel/drivers/scsi/extra/tape.ko", object(t))
	write(t, dir, "updates/b_host.ko", object(t, "alias=updated", "softdep=pre: a_host"))
	write(t, dir, "modules.builtin", nil)
	return dir
}

func names(c Chosen) (out []string) {
	for _, m := range c {
		out = append(out, m.Name)
	}
	return out
}

func TestChoose(t *testing.T) {
	tree, err := Open(folder(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		patterns, without, want, unused []string
	}{
		"dependencies first":  {[]string{"virtio_net"}, nil, []string{"virtio", "virtio_ring", "net_failover", "virtio_net"}, nil},
		"a folder":            {[]string{"kernel/drivers/virtio/"}, nil, []string{"virtio", "virtio_ring"}, nil},
		"a dash":              {[]string{"net-failover"}, nil, []string{"net_failover"}, nil},
		"wildcards":           {[]string{"kernel/*/virtio/", "tap*"}, nil, []string{"virtio", "virtio_ring", "tape"}, nil},
		"a circle":            {[]string{"a_host"}, nil, []string{"b_host", "a_host"}, nil},
		"without":             {[]string{"kernel/drivers/scsi/"}, []string{"tape"}, []string{"b_host", "a_host"}, nil},
		"without, but needed": {[]string{"virtio_net"}, []string{"virtio"}, []string{"virtio", "virtio_ring", "net_failover", "virtio_net"}, nil},
		"unused":              {[]string{"nvme", "virtio", "kernel/drivers/ata/"}, nil, []string{"virtio"}, []string{"nvme", "kernel/drivers/ata/"}},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, unused, err := tree.Choose(tc.patterns, tc.without)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, names(chosen)); diff != "" {
				t.Errorf("chosen (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.unused, unused); diff != "" {
				t.Errorf("unused (-want +got):\n%s", diff)
			}
		})
	}
	if _, _, err := tree.Choose([]string{"["}, nil); err == nil {
		t.Error("a broken pattern was taken")
	}
}

func TestFiles(t *testing.T) {
	tree, err := Open(folder(t))
	if err != nil {
		t.Fatal(err)
	}
	chosen, _, err := tree.Choose([]string{"virtio_net", "a_host"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	content := map[string]string{}
	for _, f := range chosen.Files() {
		paths = append(paths, f.Path)
		content[f.Path] = string(f.Content)
	}
	want := []string{
		"kernel/drivers/net/net_failover.ko", "kernel/drivers/net/virtio_net.ko", "kernel/drivers/scsi/a-host.ko", "kernel/drivers/virtio/virtio.ko",
		"kernel/drivers/virtio/virtio_ring.ko", "modules.alias", "modules.dep", "updates/b_host.ko",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	wantDep := `kernel/drivers/virtio/virtio.ko:
kernel/drivers/virtio/virtio_ring.ko: kernel/drivers/virtio/virtio.ko
kernel/drivers/net/net_failover.ko:
kernel/drivers/net/virtio_net.ko: kernel/drivers/net/net_failover.ko kernel/drivers/virtio/virtio_ring.ko kernel/drivers/virtio/virtio.ko
updates/b_host.ko: kernel/drivers/scsi/a-host.ko
kernel/drivers/scsi/a-host.ko: updates/b_host.ko
`
	if diff := cmp.Diff(wantDep, content["modules.dep"]); diff != "" {
		t.Errorf("modules.dep (-want +got):\n%s", diff)
	}
	if want := "alias virtio:d00000001v* virtio_net\nalias updated b_host\nalias pci:v00001AF4d* a_host\n"; content["modules.alias"] != want {
		t.Errorf("modules.alias: %q", content["modules.alias"])
	}
	if diff := cmp.Diff([]string{"a/fw.bin"}, chosen.Firmware()); diff != "" {
		t.Errorf("firmware (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(content["kernel/drivers/virtio/virtio_ring.ko"], "\x7fELF") {
		t.Error("a module is still compressed")
	}
}

func TestBrokenModules(t *testing.T) {
	for name, content := range map[string][]byte{"no ELF": []byte("text"), "empty": nil} {
		dir := t.TempDir()
		write(t, dir, "kernel/broken.ko", content)
		tree, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := tree.Choose([]string{"broken"}, nil); err == nil || !strings.Contains(err.Error(), "broken.ko") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder without modules was taken")
	}
}

func FuzzModinfo(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(_ *testing.T, content []byte) {
		m := Module{Content: content}
		_ = m.readInfo()
	})
}
