package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/image/bootimage"
	"github.com/farrier-dev/farrier/internal/image/uki"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

// imagePack are the flags of `farrier image pack`.
type imagePack struct {
	pushOptions
	kernel, rootfs, squashfs, uki, architecture string
	initramfs, annotations                      []string
}

func newImagePack() *cobra.Command {
	var p imagePack
	cmd := &cobra.Command{
		Use:   "pack IMAGE",
		Short: "Pack the boot files of an operating system into an image",
		Long: `Packs a kernel, an initramfs, a root file system or a UKI into an OCI image that machines boot. The same files give the same digests.

A root file system that is published as a cpio archive becomes part of the initramfs (--rootfs). One that the initramfs fetches and
mounts is a layer of its own (--squashfs).

IMAGE may hold one image for each architecture: it is an index then, and a machine boots the one for its own.

` + imageArgument,
		Example: `  farrier image pack registry.example/os/flatcar:stable --kernel flatcar_production_pxe.vmlinuz --initramfs flatcar_production_pxe_image.cpio.gz
  farrier image pack registry.example/os/fcos:42 --kernel fedora-coreos-42-live-kernel.x86_64 \
    --initramfs fedora-coreos-42-live-initramfs.x86_64.img --rootfs fedora-coreos-42-live-rootfs.x86_64.img
  farrier image pack oci:talos --uki metal-amd64-uki.efi`,
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&p.kernel, "kernel", "", "kernel file, together with --initramfs")
	f.StringArrayVar(&p.initramfs, "initramfs", nil, "initramfs file, as the kernel unpacks it; may be repeated, each adds to those before it")
	f.StringVar(&p.rootfs, "rootfs", "", "root file system as a cpio archive, which is added to the initramfs (default: none)")
	f.StringVar(&p.squashfs, "squashfs", "", "root file system that the initramfs fetches, squashfs or erofs (default: none)")
	f.StringVar(&p.uki, "uki", "", "unified kernel image, for UEFI HTTP boot")
	f.StringVar(&p.architecture, "architecture", "amd64", "architecture of the machines: amd64 or arm64")
	f.StringArrayVar(&p.annotations, "annotation", nil, "key=value to add to the manifest; may be repeated")
	p.bind(cmd)
	return cmd
}

func (p *imagePack) run(ctx context.Context, out io.Writer, destination string) error {
	image, err := p.image()
	if err != nil {
		return err
	}
	added, err := p.push(ctx, destination, image)
	if err != nil {
		return err
	}
	printAdded(out, len("digest  "), destination, added)
	return nil
}

// image checks that a machine can boot what is packed.
func (p *imagePack) image() (bootimage.Image, error) {
	var none bootimage.Image
	switch {
	case p.kernel == "" && len(p.initramfs) == 0 && p.uki == "" && p.rootfs == "":
		return none, usage.Errorf("want --kernel and --initramfs, or --uki, or all three")
	case p.rootfs != "" && len(p.initramfs) == 0:
		return none, usage.Errorf("--rootfs: needs --initramfs, which it is added to")
	case (p.kernel == "") != (len(p.initramfs) == 0):
		return none, usage.Errorf("--kernel and --initramfs: want both or neither")
	case p.squashfs != "" && p.kernel == "":
		return none, usage.Errorf("--squashfs: needs --kernel and --initramfs")
	case p.architecture != "amd64" && p.architecture != "arm64":
		return none, usage.Errorf("--architecture: %q is neither amd64 nor arm64", p.architecture)
	}
	image := bootimage.Image{Architecture: p.architecture, Annotations: map[string]string{}}
	for _, annotation := range p.annotations {
		key, value, ok := strings.Cut(annotation, "=")
		if !ok || key == "" {
			return none, usage.Errorf("--annotation: %q is not key=value", annotation)
		}
		image.Annotations[key] = value
	}
	var err error
	image.Layers, err = p.layers()
	return image, err
}

// layers are the files of the image, each checked: a machine would find out much later.
func (p *imagePack) layers() ([]bootimage.Layer, error) {
	var layers []bootimage.Layer
	for _, part := range []struct {
		flag, file, mediaType string
		check                 func(file string) error
	}{
		{"kernel", p.kernel, bootimage.KernelType, p.checkKernel}, {"squashfs", p.squashfs, bootimage.SquashfsType, bootimage.CheckSquashfs},
		{"uki", p.uki, bootimage.UKIType, p.checkUKI},
	} {
		if part.file == "" {
			continue
		}
		layer, err := bootimage.File(part.mediaType, filepath.Base(part.file), part.file)
		if err == nil {
			err = part.check(part.file)
		}
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", part.flag, err)
		}
		layers = append(layers, layer)
		if part.flag == "kernel" {
			if layer, err = p.initramfsLayer(); err != nil {
				return nil, err
			}
			layers = append(layers, layer)
		}
	}
	return layers, nil
}

// initramfsLayer is what Linux unpacks: the files of --initramfs and then that of --rootfs.
func (p *imagePack) initramfsLayer() (bootimage.Layer, error) {
	flag, files := "--initramfs", p.initramfs
	if p.rootfs != "" {
		flag, files = "--initramfs and --rootfs", append(slices.Clip(files), p.rootfs)
	}
	layer, err := bootimage.Initramfs(filepath.Base(files[0]), files...)
	if err != nil {
		return layer, fmt.Errorf("%s: %w", flag, err)
	}
	return layer, nil
}

// checkKernel leaves compressed kernels of other loaders alone.
func (p *imagePack) checkKernel(file string) error {
	head, size, err := begin(file)
	if err != nil {
		return err
	}
	return p.fits(file, cmp.Or(uki.KernelArchitecture(head), p.architecture), uki.Size(head), size)
}

func (p *imagePack) checkUKI(file string) error {
	head, size, err := begin(file)
	if err != nil {
		return err
	}
	architecture := uki.Architecture(head)
	if architecture == "" {
		return fmt.Errorf("%s: not an EFI program of amd64 or arm64", file)
	}
	return p.fits(file, architecture, uki.Size(head), size)
}

// fits refuses a file for other machines, and one that was not downloaded to its end.
func (p *imagePack) fits(file, architecture string, says, size int64) error {
	switch {
	case architecture != p.architecture:
		return fmt.Errorf("%s: is for %s, and --architecture is %s", file, architecture, p.architecture)
	case size < says:
		return fmt.Errorf("%s: is cut off: it has %d bytes, and its header says %d", file, size, says)
	}
	return nil
}

// begin reads the beginning of a file, in which all headers are.
func begin(file string) (head []byte, size int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	head, err = io.ReadAll(io.LimitReader(f, 1<<20))
	return head, info.Size(), err
}
