package discovery

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/farrier-dev/farrier/internal/image/kmod"
	"github.com/farrier-dev/farrier/internal/image/uki"
)

// DefaultModules are what machines need to show their disks and network cards. What a kernel has built in, or not at all, is passed over.
var DefaultModules = []string{
	"kernel/drivers/virtio/", "kernel/drivers/nvme/host/", "kernel/drivers/ata/", "kernel/drivers/scsi/", "kernel/drivers/message/fusion/",
	"kernel/drivers/net/ethernet/", "kernel/drivers/net/hyperv/", "kernel/drivers/net/vmxnet3/", "kernel/drivers/net/phy/", "kernel/drivers/net/mdio/",
	"kernel/drivers/hv/", "kernel/drivers/char/tpm/", "kernel/drivers/char/hw_random/", "kernel/drivers/mmc/",
	"virtio_net", "xen-netfront", "virtio_blk", "xen-blkfront",
	"button", // the power button, which a BMC presses for a graceful shutdown
}

// notModules are in those folders and of no use here: simulations, drivers that search for old hardware at fixed addresses, tapes, optical drives,
// disks on other machines, and what takes memory away.
var notModules = []string{
	"scsi_debug", "tpm_vtpm_proxy", "pata_legacy", "BusLogic", "st", "ch", "sr_mod", "sg", "iscsi_tcp", "libiscsi_tcp", "libiscsi", "iscsi_boot_sysfs",
	"scsi_transport_iscsi", "nvme_fabrics", "nvme_tcp", "nvme_rdma", "nvme_fc", "virtio_input", "virtio_balloon", "virtio_mem", "hv_balloon", "hv_utils",
}

// DefaultCommandLines are those of the UKI: consoles that a person at the rack or behind a BMC looks at.
var DefaultCommandLines = map[string]string{
	"amd64": "console=ttyS0,115200 console=tty0 consoleblank=0 panic=60",
	"arm64": "console=ttyAMA0,115200 console=tty0 consoleblank=0 panic=60",
}

// Parts is what an image is made of.
type Parts struct {
	Kernel Kernel
	// Agent is the file of a static metalprobe.
	Agent string
	// Modules are patterns of more modules (kmod.Tree.Choose); those of DefaultModules come first.
	Modules []string
	// OnlyModules leaves out DefaultModules.
	OnlyModules bool
	// Firmware is a folder such as /lib/firmware, of which the files are taken that modules name; empty: none.
	Firmware string
	// PCINames is a file pci.ids with the names of devices; empty: none.
	PCINames string
	// BootCA holds the authorities, PEM, that the agent verifies the boot server with; nil: it speaks plain HTTP.
	BootCA []byte

	// Stub is the file of systemd's EFI stub; empty: no UKI.
	Stub string
	// CommandLine is that of the UKI; empty: the default of the architecture.
	CommandLine string
	// Key and Certificate sign the UKI; nil: it is not signed.
	Key         crypto.Signer
	Certificate *x509.Certificate
	// Version is that of the agent, for os-release.
	Version string
}

// Image is a discovery image.
type Image struct {
	Architecture, KernelVersion string
	// Version is that of the agent.
	Version                string
	Kernel, Initramfs, UKI []byte
	// PCR11 is the value that PCR 11 has when the UKI's kernel starts; empty: no UKI.
	PCR11 string
	// Modules is how many kernel modules are in it, Unused the patterns of the caller's that matched none.
	Modules int
	Unused  []string
}

// Build makes an image.
func Build(p Parts) (Image, error) {
	kernel, err := os.ReadFile(p.Kernel.Image)
	if err != nil {
		return Image{}, fmt.Errorf("kernel: %w", err)
	}
	image := Image{Kernel: kernel, Architecture: uki.KernelArchitecture(kernel), KernelVersion: p.Kernel.Version, Version: p.Version}
	if image.Architecture == "" {
		return Image{}, fmt.Errorf("kernel %s: not a kernel of amd64 or arm64 that firmware starts", p.Kernel.Image)
	}
	if says := uki.Size(kernel); int64(len(kernel)) < says {
		return Image{}, fmt.Errorf("kernel %s: is cut off: it has %d bytes, and its header says %d", p.Kernel.Image, len(kernel), says)
	}
	if told := versionOf(kernel); told != "" && told != p.Kernel.Version {
		return Image{}, fmt.Errorf("kernel %s is version %s, and its modules are of %s", p.Kernel.Image, told, p.Kernel.Version)
	}
	agent, err := os.ReadFile(p.Agent)
	if err != nil {
		return Image{}, fmt.Errorf("agent: %w", err)
	}
	if err := checkAgent(agent, image.Architecture); err != nil {
		return Image{}, fmt.Errorf("agent %s: %w", p.Agent, err)
	}
	if err := image.initramfs(p, agent); err != nil {
		return Image{}, err
	}
	if p.Stub == "" {
		return image, nil
	}
	return image, image.uki(p)
}

// checkAgent refuses a program that cannot run where there is nothing but itself.
func checkAgent(content []byte, architecture string) error {
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("not a program: %w", err)
	}
	machines := map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}
	if got := machines[file.Machine]; got != architecture {
		return fmt.Errorf("is for %s, and the kernel for %s", file.Machine, architecture)
	}
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return errors.New("needs a dynamic linker: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

func (i *Image) initramfs(p Parts, agent []byte) error {
	modules, err := kmod.Open(p.Kernel.Modules)
	if err != nil {
		return err
	}
	patterns := p.Modules
	if !p.OnlyModules {
		patterns = append(append([]string{}, DefaultModules...), p.Modules...)
	}
	chosen, unused, err := modules.Choose(patterns, notModules)
	if err != nil {
		return err
	}
	i.Modules = len(chosen)
	for _, pattern := range unused {
		for _, own := range p.Modules {
			if own == pattern {
				i.Unused = append(i.Unused, pattern)
			}
		}
	}
	t := newTree()
	t.file("init", agent, 0o755)
	t.modules(p.Kernel.Version, chosen)
	if p.Firmware != "" {
		if err := t.firmware(p.Firmware, chosen.Firmware()); err != nil {
			return err
		}
	}
	if p.PCINames != "" {
		names, err := os.ReadFile(p.PCINames)
		if err != nil {
			return fmt.Errorf("names of PCI devices: %w", err)
		}
		t.file("usr/share/misc/pci.ids", names, 0o644)
	}
	if len(p.BootCA) > 0 {
		if !x509.NewCertPool().AppendCertsFromPEM(p.BootCA) {
			return errors.New("boot CA: holds no PEM certificate")
		}
		t.file(BootCAFile, p.BootCA, 0o644)
	}
	i.Initramfs, err = t.archive()
	return err
}

func (i *Image) uki(p Parts) error {
	stub, err := os.ReadFile(p.Stub)
	if err != nil {
		return fmt.Errorf("EFI stub: %w", err)
	}
	line := p.CommandLine
	if line == "" {
		line = DefaultCommandLines[i.Architecture]
	}
	if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
		return errors.New("command line: has characters that are not printable ASCII")
	}
	release := fmt.Sprintf("ID=farrier-discovery\nNAME=\"Farrier discovery\"\nPRETTY_NAME=\"Farrier discovery %[1]s, Linux %[2]s\"\nVERSION_ID=%[1]q\n", p.Version, i.KernelVersion)
	if i.UKI, err = uki.Build(uki.Parts{Stub: stub, Kernel: i.Kernel, Initramfs: i.Initramfs, CommandLine: line, OSRelease: release}); err != nil {
		return err
	}
	built, err := uki.Read(i.UKI)
	if err != nil {
		return err
	}
	i.PCR11 = uki.PCR11(built)
	if p.Key != nil {
		i.UKI, err = uki.Sign(i.UKI, p.Key, p.Certificate)
	}
	return err
}
