package bootimage

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

const archive = "070701 an archive"

// squeezed is a text as a compression has it.
func squeezed(t *testing.T, how func(io.Writer) (io.WriteCloser, error), text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := how(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func asGzip(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }

// at is a text at an offset behind zeros.
func at(offset int, text string) string { return strings.Repeat("\x00", offset) + text }

func put(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestInitramfsIsJoined: the archives are one behind the other, each where Linux looks for it.
func TestInitramfsIsJoined(t *testing.T) {
	first, second := put(t, "initramfs", archive), put(t, "rootfs", "070701 more")
	layer, err := Initramfs("initramfs", first, second, first)
	if err != nil {
		t.Fatal(err)
	}
	want := archive + "\x00\x00\x00" + "070701 more" + "\x00" + archive
	r, err := layer.open()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || string(got) != want || r.Close() != nil {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if same := Bytes(InitramfsType, "initramfs", []byte(want)); layer.descriptor.Digest != same.descriptor.Digest || layer.descriptor.Size != same.descriptor.Size {
		t.Errorf("%+v, want %+v", layer.descriptor, same.descriptor)
	}
	if strings.Index(want, "070701 more")%archiveAlignment != 0 {
		t.Error("the second archive is where Linux does not see it")
	}
}

func TestWhatAnInitramfsIs(t *testing.T) {
	asXZ := func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }
	asZstd := func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }
	for name, c := range map[string]struct{ content, refused string }{
		"an archive":          {archive, ""},
		"one with checksums":  {"070702", ""},
		"gzip":                {squeezed(t, asGzip, archive), ""},
		"xz":                  {squeezed(t, asXZ, archive), ""},
		"zstd":                {squeezed(t, asZstd, archive), ""},
		"lz4, taken on trust": {"\x02\x21\x4c\x18 and more", ""},
		"a squashfs":          {"hsqs and more", "is a squashfs file system, which an initramfs fetches: that is what --squashfs is for"},
		"an erofs":            {at(1024, "\xe2\xe1\xf5\xe0"), "is an erofs file system, which"},
		"a squashfs in gzip":  {squeezed(t, asGzip, "hsqs and more"), "squashfs file system compressed with gzip"},
		"a tar archive":       {at(257, "ustar"), "is a tar archive"},
		"a tar archive in xz": {squeezed(t, asXZ, at(257, "ustar")), "is a tar archive compressed with xz"},
		"an image of a CD":    {at(0x8001, "CD001"), "is an ISO 9660 image"},
		"a disk":              {at(512, "EFI PART"), "is a disk image"},
		"a kernel":            {"MZ and more", "is a kernel or EFI program"},
		"a text":              {"text", "neither a cpio archive nor a compressed one"},
		"a text in gzip":      {squeezed(t, asGzip, "text"), "compressed with gzip, and what is in it is no cpio archive"},
		"half a gzip":         {"\x1f\x8b\x08", "gzip: "},
		"nothing":             {"", "is empty or no file"},
	} {
		t.Run(name, func(t *testing.T) {
			file := put(t, "file", c.content)
			_, err := Initramfs("initramfs", file)
			if (err == nil) != (c.refused == "") || err != nil && (!strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), file)) {
				t.Errorf("%v, want %q and the file", err, c.refused)
			}
		})
	}
	for _, missing := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if _, err := Initramfs("initramfs", put(t, "first", archive), missing); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("%s: %v", missing, err)
		}
	}
}

func TestWhatASquashfsIs(t *testing.T) {
	for name, c := range map[string]struct{ content, refused string }{
		"a squashfs":         {"hsqs and more", ""},
		"an erofs":           {at(1024, "\xe2\xe1\xf5\xe0"), ""},
		"a squashfs in gzip": {squeezed(t, asGzip, "hsqs"), "compressed with gzip"},
		"an archive":         {archive, "--rootfs adds it to the initramfs"},
		"a text":             {"text", "not a squashfs file system"},
		"a tar archive":      {at(257, "ustar"), "is a tar archive"},
		"nothing":            {"", "is empty or no file"},
	} {
		t.Run(name, func(t *testing.T) {
			file := put(t, "file", c.content)
			err := CheckSquashfs(file)
			if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%v, want %q", err, c.refused)
			}
		})
	}
}

// A machine must not unpack what has changed while it was packed.
func TestInitramfsThatChanges(t *testing.T) {
	file := put(t, "initramfs", archive)
	layer, err := Initramfs("initramfs", file, file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ToUpper(archive)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, "oci:"+filepath.Join(t.TempDir(), "layout"), true).Push(t.Context(), Image{Layers: []Layer{layer}}); err == nil {
		t.Error("it was pushed")
	}
}
