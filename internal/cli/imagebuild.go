package cli

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/image/discovery"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/program/version"
)

// imageBuild are the flags of `farrier image build`.
type imageBuild struct {
	discovery.Parts
	pushOptions
	root, bootCAFile, keyFile, certificateFile, files string
	noUKI                                             bool
}

func newImageBuild() *cobra.Command {
	var b imageBuild
	cmd := &cobra.Command{
		Use:   "build IMAGE",
		Short: "Build the discovery image that inspects and cleans machines",
		Long: `Builds the discovery image from a Linux kernel, its modules and metalprobe: kernel and initramfs for iPXE, and a UKI for UEFI HTTP
boot. The same files give the same digests.

IMAGE may hold one image for each architecture: it is an index then, and a machine boots the one for its own.

` + imageArgument,
		Example: `  farrier image build registry.example/farrier/probe:1
  farrier image build oci:probe --root unpacked/ --firmware /lib/firmware
  farrier image build registry.example/farrier/probe:1 --sign-key db.key --sign-cert db.crt`,
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return b.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0])
		},
	}
	cmd.Flags().SortFlags = false
	b.bindParts(cmd.Flags())
	b.bind(cmd)
	return cmd
}

func (b *imageBuild) bindParts(f *pflag.FlagSet) {
	f.StringVar(&b.root, "root", "/", "folder of a system, or of an unpacked kernel package, whose newest kernel with modules is taken")
	f.StringVar(&b.Kernel.Image, "kernel", "", "kernel file, together with --modules (default: of --root)")
	f.StringVar(&b.Kernel.Modules, "modules", "", "folder of that kernel's modules, named after its version")
	f.StringArrayVar(&b.Parts.Modules, "module", nil, "name of a module to add, or folder/ such as kernel/drivers/net/usb/; may be repeated, may have wildcards")
	f.BoolVar(&b.OnlyModules, "only-modules", false, "take the modules of --module alone, and what they depend on")
	f.StringVar(&b.Firmware, "firmware", "", "folder such as /lib/firmware of which the files are added that the modules name (default: none)")
	f.StringVar(&b.PCINames, "pci-ids", "", "file pci.ids with the names of PCI devices (default: none)")
	f.StringVar(&b.Agent, "agent", "", "static metalprobe for the kernel's architecture (default: the one beside farrier)")
	f.StringVar(&b.bootCAFile, "boot-ca-file", "", "PEM file of the authorities that verify a boot server over https (default: none)")
	f.StringVar(&b.Stub, "stub", "", "EFI stub of systemd for the UKI (default: the one of the package systemd-boot-efi)")
	f.BoolVar(&b.noUKI, "no-uki", false, "make kernel and initramfs alone, without a UKI")
	f.StringVar(&b.CommandLine, "command-line", "", "kernel command line of the UKI (default: serial console and screen)")
	f.StringVar(&b.keyFile, "sign-key", "", "PEM file of the RSA key that signs the UKI for Secure Boot (default: not signed)")
	f.StringVar(&b.certificateFile, "sign-cert", "", "PEM file of that key's certificate")
	f.StringVar(&b.files, "files", "", "folder to write kernel, initramfs, UKI and the predicted PCR 11 to as well (default: none)")
}

// complete finds what no flag names, and reads the files that flags name.
func (b *imageBuild) complete() error {
	if (b.Kernel.Image == "") != (b.Kernel.Modules == "") {
		return usage.Errorf("--kernel and --modules: want both or neither")
	}
	if (b.keyFile == "") != (b.certificateFile == "") {
		return usage.Errorf("--sign-key and --sign-cert: want both or neither")
	}
	if b.noUKI && (b.Stub != "" || b.keyFile != "" || b.CommandLine != "") {
		return usage.Errorf("--no-uki: --stub, --command-line and --sign-key are for the UKI")
	}
	if b.Kernel.Image == "" {
		found, err := discovery.Find(b.root)
		if err != nil {
			return err
		}
		b.Kernel = found
	} else {
		b.Kernel.Version = filepath.Base(filepath.Clean(b.Kernel.Modules))
	}
	if b.Agent == "" {
		if b.Agent = discovery.Agent(); b.Agent == "" {
			return errors.New("--agent: no metalprobe beside this program")
		}
	}
	b.Parts.Version = version.String()
	return b.readFiles()
}

func (b *imageBuild) readFiles() error {
	var err error
	if b.bootCAFile != "" {
		if b.BootCA, err = os.ReadFile(b.bootCAFile); err != nil {
			return fmt.Errorf("--boot-ca-file: %w", err)
		}
	}
	if b.keyFile == "" {
		return nil
	}
	if b.Key, err = readKey(b.keyFile); err != nil {
		return fmt.Errorf("--sign-key: %w", err)
	}
	if b.Certificate, err = readCertificate(b.certificateFile); err != nil {
		return fmt.Errorf("--sign-cert: %w", err)
	}
	return nil
}

func readKey(file string) (crypto.Signer, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s: not PEM", file)
	}
	switch block.Type {
	case "RSA PRIVATE KEY":
		if block.Headers["DEK-Info"] == "" {
			return x509.ParsePKCS1PrivateKey(block.Bytes)
		}
	case "PRIVATE KEY":
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	return nil, fmt.Errorf("%s: want an RSA key without a pass phrase (openssl pkey -in %s -out plain.key removes it)", file, file)
}

func readCertificate(file string) (*x509.Certificate, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("%s: no PEM certificate", file)
	}
	return x509.ParseCertificate(block.Bytes)
}

func (b *imageBuild) run(ctx context.Context, out, errOut io.Writer, destination string) error {
	if err := b.complete(); err != nil {
		return err
	}
	b.findStub(errOut)
	image, err := discovery.Build(b.Parts)
	if err != nil {
		return err
	}
	for _, pattern := range image.Unused {
		fmt.Fprintf(errOut, "warning: --module %s: this kernel has no such module\n", pattern)
	}
	if err := b.writeFiles(image); err != nil {
		return err
	}
	added, err := b.push(ctx, destination, image.OCI())
	if err != nil {
		return err
	}
	printAdded(out, len("initramfs   "), destination, added)
	fmt.Fprintf(out, "kernel      %s  Linux %s, %s\ninitramfs   %s  %d kernel modules\n",
		megabytes(int64(len(image.Kernel))), image.KernelVersion, image.Architecture, megabytes(int64(len(image.Initramfs))), image.Modules)
	if image.UKI != nil {
		signed := "not signed"
		if b.Key != nil {
			signed = "signed as " + b.Certificate.Subject.String()
		}
		fmt.Fprintf(out, "UKI         %s  %s\nPCR 11      sha256:%s\n", megabytes(int64(len(image.UKI))), signed, image.PCR11)
	}
	return nil
}

// findStub takes the stub of this system. Where there is none, machines that boot over UEFI HTTP are left out, and that is said.
func (b *imageBuild) findStub(errOut io.Writer) {
	if b.noUKI || b.Stub != "" {
		return
	}
	file, there, err := discovery.Stub(b.Kernel)
	switch {
	case err != nil: // told when it is built
	case there:
		b.Stub = file
	default:
		fmt.Fprintf(errOut, "warning: no UKI, for UEFI HTTP boot: no file %s (Debian package systemd-boot-efi); --stub may name another\n", file)
	}
}

// writeFiles writes the parts of an image, and what PCR 11 will be.
func (b *imageBuild) writeFiles(image discovery.Image) error {
	if b.files == "" {
		return nil
	}
	if err := os.MkdirAll(b.files, 0o755); err != nil {
		return fmt.Errorf("--files: %w", err)
	}
	contents := map[string][]byte{discovery.KernelFile: image.Kernel, discovery.InitramfsFile: image.Initramfs}
	if image.UKI != nil {
		contents[discovery.UKIFile], contents[discovery.UKIFile+".pcr11"] = image.UKI, []byte(image.PCR11+"\n")
	}
	for name, content := range contents {
		if err := os.WriteFile(filepath.Join(b.files, name), content, 0o644); err != nil {
			return fmt.Errorf("--files: %w", err)
		}
	}
	return nil
}
