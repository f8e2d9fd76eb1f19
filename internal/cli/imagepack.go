package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/image/bootimage"
	"github.com/farrier-dev/farrier/internal/image/uki"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

// imagePack are the flags of `farrier image pack`.
type imagePack struct {
	bootimage.Options
	kernel, initramfs, squashfs, uki, architecture string
	annotations                                    []string
}

func newImagePack() *cobra.Command {
	var p imagePack
	cmd := &cobra.Command{
		Use:   "pack IMAGE",
		Short: "Pack the boot files of an operating system into an image",
		Long: `Packs a kernel, an initramfs, a root file system or a UKI into an OCI image that machines boot. The same files give the same digests.

` + imageArgument,
		Example: `  farrier image pack registry.example/os/flatcar:stable --kernel flatcar_production_pxe.vmlinuz --initramfs flatcar_production_pxe_image.cpio.gz
  farrier image pack oci:talos --uki metal-amd64-uki.efi`,
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&p.kernel, "kernel", "", "kernel file, together with --initramfs")
	f.StringVar(&p.initramfs, "initramfs", "", "initramfs file, as the kernel unpacks it")
	f.StringVar(&p.squashfs, "squashfs", "", "root file system that the initramfs fetches (default: none)")
	f.StringVar(&p.uki, "uki", "", "unified kernel image, for UEFI HTTP boot")
	f.StringVar(&p.architecture, "architecture", "amd64", "architecture of the machines: amd64 or arm64")
	f.StringArrayVar(&p.annotations, "annotation", nil, "key=value to add to the manifest; may be repeated")
	plainHTTP(cmd, &p.Options)
	return cmd
}

func (p *imagePack) run(ctx context.Context, out io.Writer, destination string) error {
	image, err := p.image()
	if err != nil {
		return err
	}
	place, err := bootimage.Open(ctx, destination, p.Options, true)
	if err != nil {
		return err
	}
	digest, err := place.Push(ctx, image)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "image   %s\ndigest  %s\n", destination, digest)
	return nil
}

// image checks that a machine can boot what is packed.
func (p *imagePack) image() (bootimage.Image, error) {
	var none bootimage.Image
	switch {
	case p.kernel == "" && p.initramfs == "" && p.uki == "":
		return none, usage.Errorf("want --kernel and --initramfs, or --uki, or all three")
	case (p.kernel == "") != (p.initramfs == ""):
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
	for _, f := range []struct{ flag, file, mediaType string }{
		{"kernel", p.kernel, bootimage.KernelType}, {"initramfs", p.initramfs, bootimage.InitramfsType},
		{"squashfs", p.squashfs, bootimage.SquashfsType}, {"uki", p.uki, bootimage.UKIType},
	} {
		if f.file == "" {
			continue
		}
		if err := p.fits(f.flag, f.file); err != nil {
			return none, fmt.Errorf("--%s: %w", f.flag, err)
		}
		layer, err := bootimage.File(f.mediaType, filepath.Base(f.file), f.file)
		if err != nil {
			return none, fmt.Errorf("--%s: %w", f.flag, err)
		}
		image.Layers = append(image.Layers, layer)
	}
	return image, nil
}

// fits refuses a file that is evidently something else: a machine would find out much later. Compressed kernels of other loaders are left alone.
func (p *imagePack) fits(flag, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	head, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return err
	}
	architecture := p.architecture
	switch flag {
	case "kernel":
		architecture = cmp.Or(uki.KernelArchitecture(head), p.architecture)
	case "uki":
		if architecture = uki.Architecture(head); architecture == "" {
			return fmt.Errorf("%s: not an EFI program of amd64 or arm64", file)
		}
	case "squashfs":
		if !bytes.HasPrefix(head, []byte("hsqs")) {
			return fmt.Errorf("%s: not a squashfs file system", file)
		}
	}
	if architecture != p.architecture {
		return fmt.Errorf("%s: is for %s, and --architecture is %s", file, architecture, p.architecture)
	}
	return nil
}
