package acceptance

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/u-root/u-root/pkg/cpio"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/bootimage"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/product"
)

// TestImagesOfAFolder: a claim runs an image that is in no registry, and one that the folder does not hold says so.
func TestImagesOfAFolder(t *testing.T) {
	folder := t.TempDir()
	place, err := bootimage.Open(t.Context(), "oci:"+filepath.Join(folder, "os", "flatcar")+":1", bootimage.Options{}, true)
	if err != nil {
		t.Fatal(err)
	}
	small := localregistry.SmallImage(7)
	if _, err := place.Push(t.Context(), bootimage.Image{Architecture: "amd64", Layers: []bootimage.Layer{
		bootimage.Bytes(bootimage.KernelType, "vmlinuz", small.Kernel), bootimage.Bytes(bootimage.InitramfsType, "initramfs", small.Initramfs),
	}}); err != nil {
		t.Fatal(err)
	}
	l := newLab(t, 2)
	p := l.up(t, "--image-layouts", folder)
	l.Discover(p.Running)
	const image = "layouts.localhost/os/flatcar:"
	l.Ignition(p.Running, "good", "ignition")
	l.Claim(p.Running, "good", func(c *metalv1.ServerClaim) { c.Spec.Image = image + "1" })
	record := p.Boots(l.MachineOf(p.Running, p.Bound("good")), sim.OutcomeInstalled)
	var kernels int
	for _, fetch := range record.Fetches {
		if strings.Contains(fetch.URL, "imageName=layouts.localhost%2Fos%2Fflatcar&") {
			kernels++
		}
	}
	if kernels != 2 {
		t.Errorf("%d layers of the folder were fetched, want kernel and initramfs: %+v", kernels, record.Fetches)
	}
	l.Ignition(p.Running, "bad", "ignition")
	l.Claim(p.Running, "bad", func(c *metalv1.ServerClaim) { c.Spec.Image = image + "2" })
	p.Bound("bad")
	p.Eventually("what is wrong with the image", func(ctx context.Context) error {
		var configs metalv1.ServerBootConfigurationList
		if err := p.List(ctx, &configs, client.InNamespace("default")); err != nil {
			return err
		}
		for _, config := range configs.Items {
			c := apimeta.FindStatusCondition(config.Status.Conditions, metalv1.ConditionImageValidation)
			if c != nil && c.Status == metav1.ConditionFalse && strings.Contains(c.Message, `os/flatcar/index.json has no tag "2"`) {
				return nil
			}
		}
		return errors.New("no condition says so")
	})
}

// discoverable is a folder with a kernel that looks like one, and an agent for it.
func discoverable(t *testing.T) (root string, agent []byte) {
	t.Helper()
	root = t.TempDir()
	kernel := make([]byte, 0x400)
	copy(kernel, "MZ")
	copy(kernel[0x1fe:], []byte{0x55, 0xaa})
	copy(kernel[0x202:], "HdrS")
	for file, content := range map[string][]byte{"boot/vmlinuz-6.1.0": kernel, "lib/modules/6.1.0/kernel/drivers/net/virtio_net.ko": module(t)} {
		to := filepath.Join(root, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return root, object(t, elf.Header64{Type: uint16(elf.ET_EXEC), Phentsize: 56, Phoff: 64})
}

// module is the smallest that Linux would take for one.
func module(t *testing.T) []byte {
	t.Helper()
	const names, info = "\x00.modinfo\x00.shstrtab\x00", "alias=virtio:d00000001v*\x00"
	return object(t, elf.Header64{Type: uint16(elf.ET_REL), Shentsize: 64, Shnum: 3, Shstrndx: 2, Shoff: uint64(64 + len(info) + len(names))}, []byte(info+names),
		[]elf.Section64{{}, {Name: 1, Type: 1, Off: 64, Size: uint64(len(info))}, {Name: 10, Type: 3, Off: uint64(64 + len(info)), Size: uint64(len(names))}})
}

// object is an ELF file for amd64.
func object(t *testing.T, header elf.Header64, parts ...any) []byte {
	t.Helper()
	header.Machine, header.Version, header.Ehsize = uint16(elf.EM_X86_64), 1, 64
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	var b bytes.Buffer
	for _, part := range append([]any{header}, parts...) {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// bootCAOf reads the authority in the discovery image of a data directory.
func bootCAOf(ctx context.Context, dataDir string) (string, error) {
	place, err := bootimage.Open(ctx, "oci:"+filepath.Join(dataDir, "discovery", "probe"), bootimage.Options{}, false)
	if err != nil {
		return "", err
	}
	image, err := place.Find(ctx, "amd64")
	if err != nil {
		return "", err
	}
	if !image.Discovery {
		return "", errors.New("the image does not say that it is Farrier's")
	}
	packed, err := place.Read(ctx, *image.Offer().Initramfs)
	if err != nil {
		return "", err
	}
	decoder, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	defer decoder.Close()
	plain, err := io.ReadAll(decoder)
	if err != nil {
		return "", err
	}
	records, err := cpio.ReadAllRecords(cpio.Newc.Reader(bytes.NewReader(plain)))
	if err != nil {
		return "", err
	}
	for _, record := range records {
		if record.Name == "etc/farrier/boot-ca.crt" {
			content, err := io.ReadAll(io.NewSectionReader(record, 0, int64(record.FileSize)))
			return string(content), err
		}
	}
	return "", errors.New("no authority is in the image")
}

// TestTheDiscoveryImageTrustsTheBootServer: farrier up builds the image with the authority of its boot server, and anew when there is another one.
func TestTheDiscoveryImageTrustsTheBootServer(t *testing.T) {
	t.Parallel()
	root, agent := discoverable(t)
	program := product.Farrier.With(t, map[string][]byte{"metalprobe": agent})
	data := filepath.Join(t.TempDir(), "data")
	var before string
	for _, start := range []string{"first", "same authority", "another authority"} {
		p, err := product.LaunchBinary(t, program, data, "--discovery-root", root, "--boot-tls-address", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		trusted, err := bootCAOf(t.Context(), data)
		if err != nil {
			t.Fatalf("%s: %v\n%s", start, err, p.Log())
		}
		published, err := os.ReadFile(p.BootCA)
		if err != nil {
			t.Fatal(err)
		}
		if trusted != string(published) {
			t.Errorf("%s: the image trusts\n%s\nand the boot server is known by\n%s", start, trusted, published)
		}
		if before != "" && (trusted == before) != (start == "same authority") {
			t.Errorf("%s: the image trusts the one of before: %v", start, trusted == before)
		}
		before = trusted
		if start == "same authority" {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "farrier-system", Name: "farrier-boot-ca"}}
			if err := p.Delete(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		}
		p.Stop()
	}
}

// TestWithoutAKernelEverythingElseRuns: what nobody asked for does not end the start, and what somebody asked for does.
func TestWithoutAKernelEverythingElseRuns(t *testing.T) {
	t.Parallel()
	root, _ := discoverable(t)
	program := product.Farrier.With(t, nil) // without metalprobe
	for name, c := range map[string]struct {
		root, says string
		runs       bool
	}{
		"auto":          {"auto", "no discovery image built", true},
		"a folder":      {t.TempDir(), "--discovery-root: no kernel with its modules below", false},
		"without agent": {root, "--discovery-root: no metalprobe beside this program", false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := product.LaunchBinary(t, program, filepath.Join(t.TempDir(), "data"), "--discovery-root", c.root)
			if (err == nil) != c.runs {
				t.Fatalf("runs: %v, want %v: %v", err == nil, c.runs, err)
			}
			said := fmt.Sprint(err)
			if c.runs {
				said = p.Log()
			}
			if strings.Count(said, c.says) != 1 {
				t.Errorf("want %q once in\n%s", c.says, said)
			}
		})
	}
}
