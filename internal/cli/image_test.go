package cli

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/test/golden"
)

// bootFiles are files that look like what their names say.
func bootFiles(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	linux := make([]byte, 0x400)
	copy(linux, "MZ")
	copy(linux[0x1fe:], []byte{0x55, 0xaa})
	copy(linux[0x202:], "HdrS")
	efi := make([]byte, 0x100)
	copy(efi, "MZ")
	efi[0x3c] = 0x40
	copy(efi[0x40:], "PE\x00\x00\x64\x86")
	arm := bytes.Replace(efi, []byte("\x64\x86"), []byte("\x64\xaa"), 1)
	for name, content := range map[string][]byte{
		"vmlinuz": linux, "initrd.img": []byte("070701"), "root.squashfs": []byte("hsqs0000"), "root.tar": []byte("tar"), "os.efi": efi, "arm.efi": arm, "cut.efi": cutOff(t), "more.img": []byte("0707011"), "rootfs.img": []byte("070701 root"), "text": []byte("text"), "empty": nil,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// cutOff is the beginning of an EFI program.
func cutOff(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	dos := make([]byte, 0x40)
	copy(dos, "MZ")
	dos[0x3c] = 0x40
	optional := pe.OptionalHeader64{Magic: 0x20b, NumberOfRvaAndSizes: 16}
	section := pe.SectionHeader32{Name: [8]byte{'.', 't', 'e', 'x', 't'}, SizeOfRawData: 0x1000, PointerToRawData: 0x200}
	for _, part := range []any{
		dos, []byte("PE\x00\x00"), pe.FileHeader{Machine: pe.IMAGE_FILE_MACHINE_AMD64, NumberOfSections: 1, SizeOfOptionalHeader: uint16(binary.Size(optional))}, optional, section,
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return append(b.Bytes(), make([]byte, 0x400)...)
}

// TestImageCommands: each file holds the command line's answers to the lines before it.
func TestImageCommands(t *testing.T) {
	for name, tc := range map[string]struct {
		lines []string
		code  int // of the last
	}{
		"help":                {[]string{"image --help"}, 0},
		"build-help":          {[]string{"image build --help"}, 0},
		"pack-help":           {[]string{"image pack --help"}, 0},
		"inspect-help":        {[]string{"image inspect --help"}, 0},
		"pack":                {[]string{"image pack oci:DIR/image:1 --kernel DIR/vmlinuz --initramfs DIR/initrd.img --squashfs DIR/root.squashfs --annotation os=test", "image inspect oci:DIR/image:1"}, 0},
		"pack-rootfs":         {[]string{"image pack oci:DIR/image --kernel DIR/vmlinuz --initramfs DIR/initrd.img --initramfs DIR/more.img --rootfs DIR/rootfs.img", "image inspect DIR/image"}, 0},
		"pack-rootfs-alone":   {[]string{"image pack oci:DIR/image --rootfs DIR/rootfs.img"}, 2},
		"pack-rootfs-wrong":   {[]string{"image pack oci:DIR/image --kernel DIR/vmlinuz --initramfs DIR/initrd.img --rootfs DIR/root.squashfs"}, 1},
		"pack-squashfs-wrong": {[]string{"image pack oci:DIR/image --kernel DIR/vmlinuz --initramfs DIR/initrd.img --squashfs DIR/rootfs.img"}, 1},
		"pack-both": {[]string{
			"image pack oci:DIR/image:1 --kernel DIR/vmlinuz --initramfs DIR/initrd.img", "image pack oci:DIR/image:1 --architecture arm64 --uki DIR/arm.efi",
			"image inspect oci:DIR/image:1", "image inspect oci:DIR/image:1 --architecture aarch64", "image inspect oci:DIR/image:1 -o json",
		}, 0},
		"pack-again": {[]string{
			"image pack oci:DIR/image --uki DIR/os.efi", "image pack oci:DIR/image --architecture arm64 --uki DIR/arm.efi",
			"image pack oci:DIR/image --kernel DIR/vmlinuz --initramfs DIR/initrd.img", "image pack oci:DIR/image --architecture arm64 --uki DIR/arm.efi --replace", "image inspect DIR/image",
		}, 0},
		"pack-missing":       {[]string{"image pack oci:DIR/image --kernel DIR/none --initramfs DIR/initrd.img"}, 1},
		"pack-folder":        {[]string{"image pack oci:DIR/image --kernel DIR/vmlinuz --initramfs DIR"}, 1},
		"pack-cut-off":       {[]string{"image pack oci:DIR/image --uki DIR/cut.efi"}, 1},
		"pack-uki":           {[]string{"image pack oci:DIR/image --uki DIR/os.efi", "image inspect DIR/image -o json"}, 0},
		"pack-nothing":       {[]string{"image pack oci:DIR/image"}, 2},
		"pack-kernel":        {[]string{"image pack oci:DIR/image --kernel DIR/vmlinuz"}, 2},
		"pack-tar":           {[]string{"image pack oci:DIR/image --kernel DIR/vmlinuz --initramfs DIR/initrd.img --squashfs DIR/root.tar"}, 1},
		"pack-text":          {[]string{"image pack oci:DIR/image --uki DIR/text"}, 1},
		"pack-empty":         {[]string{"image pack oci:DIR/image --kernel DIR/vmlinuz --initramfs DIR/empty"}, 1},
		"pack-arm64":         {[]string{"image pack oci:DIR/image --architecture arm64 --kernel DIR/vmlinuz --initramfs DIR/initrd.img"}, 1},
		"pack-riscv64":       {[]string{"image pack oci:DIR/image --architecture riscv64 --uki DIR/os.efi"}, 2},
		"inspect-nothing":    {[]string{"image inspect oci:DIR/nothing"}, 1},
		"inspect-tag":        {[]string{"image pack oci:DIR/image:1 --uki DIR/os.efi", "image inspect oci:DIR/image:2"}, 1},
		"build-no-kernel":    {[]string{"image build oci:DIR/image --root DIR"}, 1},
		"build-half-kernel":  {[]string{"image build oci:DIR/image --kernel DIR/vmlinuz"}, 2},
		"build-half-key":     {[]string{"image build oci:DIR/image --sign-key DIR/text"}, 2},
		"build-unused-stub":  {[]string{"image build oci:DIR/image --no-uki --stub DIR/os.efi"}, 2},
		"build-no-key":       {[]string{"image build oci:DIR/image --kernel DIR/vmlinuz --modules DIR/6.1.0 --agent DIR/text --sign-key DIR/text --sign-cert DIR/text"}, 1},
		"build-text-agent":   {[]string{"image build oci:DIR/image --kernel DIR/vmlinuz --modules DIR/6.1.0 --agent DIR/text --no-uki"}, 1},
		"build-no-arguments": {[]string{"image build"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			folder := bootFiles(t)
			var got strings.Builder
			for i, line := range tc.lines {
				var stdout, stderr bytes.Buffer
				code := Main(strings.Fields(strings.ReplaceAll(line, "DIR", folder)), &stdout, &stderr)
				fmt.Fprintf(&got, "$ farrier %s\n%s--- stderr\n%s", line, stdout.String(), stderr.String())
				if want := map[bool]int{true: tc.code}[i == len(tc.lines)-1]; code != want {
					t.Errorf("%s: exit code %d, want %d\n%s", line, code, want, stderr.String())
				}
			}
			text := strings.ReplaceAll(got.String(), folder, "DIR")
			golden.Equal(t, filepath.Join("testdata", "image", name+".golden"), text)
		})
	}
}
