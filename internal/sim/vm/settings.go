package vm

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/sim"
)

// Firmware is what a machine starts with.
type Firmware string

// The kinds of firmware.
const (
	BIOS       Firmware = "bios"       // SeaBIOS, and iPXE in the network card
	UEFI       Firmware = "uefi"       // OVMF
	SecureBoot Firmware = "secureboot" // OVMF with Secure Boot and the snakeoil key of Debian's package ovmf
)

// Firmwares lists all kinds.
func Firmwares() []Firmware { return []Firmware{BIOS, UEFI, SecureBoot} }

func (f Firmware) uefi() bool { return f != BIOS }

// modes are the boot modes that a BMC in front of this firmware offers.
func (f Firmware) modes() []string {
	switch f {
	case BIOS:
		return []string{sim.ModeLegacy}
	case UEFI:
		return []string{sim.ModeUEFI, sim.ModeLegacy}
	default:
		return []string{sim.ModeUEFI}
	}
}

// Kind is the firmware of a machine, and whether it has a TPM.
type Kind struct {
	Firmware Firmware
	TPM      bool
}

// withTPM is what stands behind a firmware that has a TPM beside it.
const withTPM = "+tpm"

// ParseKinds reads kinds that are separated by commas: machines take turns.
func ParseKinds(text string) (kinds []Kind, err error) {
	for word := range strings.SplitSeq(text, ",") {
		name, tpm := strings.CutSuffix(strings.TrimSpace(word), withTPM)
		k := Kind{Firmware: Firmware(name), TPM: tpm}
		if !slices.Contains(Firmwares(), k.Firmware) {
			return nil, fmt.Errorf("%q: want %v, each also with %s", word, Firmwares(), withTPM)
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

// Settings is what is said of all machines of a rack.
type Settings struct {
	// Machines is how many there are; they have the Kinds in turn.
	Machines int
	Kinds    []Kind
	// MemoryMiB and Disks, sizes in bytes, are what each has.
	MemoryMiB int
	Disks     []int64
	// Network is the address of this host in the network of the machines.
	Network netip.Prefix
	// Dir keeps a folder for each machine.
	Dir    string
	Logger logr.Logger
}

// MaxMachines is how many machines a rack has at most: each takes memory and a process.
const MaxMachines = 100

// Files of firmware, where Debian has them.
const (
	ovmfCode   = "/usr/share/OVMF/OVMF_CODE_4M.fd"
	ovmfVars   = "/usr/share/OVMF/OVMF_VARS_4M.fd"
	secureCode = "/usr/share/OVMF/OVMF_CODE_4M.secboot.fd"
	secureVars = "/usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd"
	qemu       = "qemu-system-x86_64"
	swtpm      = "swtpm"
)

// cardROMs are where the boot ROM of QEMU's network card is: one file for both kinds of firmware.
var cardROMs = []string{"/usr/share/qemu/efi-virtio.rom", "/usr/lib/ipxe/qemu/efi-virtio.rom", "/usr/share/ipxe/qemu/efi-virtio.rom"}

// Check refuses what cannot work, before anything is started. It names each thing that is missing, and the package of Debian that has it.
func (s *Settings) Check() error {
	if err := supported(); err != nil {
		return err
	}
	errs := []error{s.checkNumbers()}
	if os.Geteuid() != 0 {
		errs = append(errs, errors.New("needs root, for a network namespace"))
	}
	for _, n := range s.needs() {
		if !n.there() {
			errs = append(errs, fmt.Errorf("needs %s: Debian package %s", n.what, n.debian))
		}
	}
	return errors.Join(errs...)
}

func (s *Settings) checkNumbers() error {
	var errs []error
	if s.Machines < 1 || s.Machines > MaxMachines {
		errs = append(errs, fmt.Errorf("%d is out of range 1 to %d", s.Machines, MaxMachines))
	}
	if s.MemoryMiB < minMemoryMiB {
		errs = append(errs, fmt.Errorf("memory: %d MiB are less than %d", s.MemoryMiB, minMemoryMiB))
	}
	if len(s.Disks) == 0 || len(s.Disks) > maxDisks {
		errs = append(errs, fmt.Errorf("disks: %d of them, want 1 to %d", len(s.Disks), maxDisks))
	}
	for _, bytes := range s.Disks {
		if bytes < minDisk || bytes%minDisk != 0 {
			errs = append(errs, fmt.Errorf("disks: %d bytes are not whole MiB", bytes))
		}
	}
	if !s.Network.Addr().Is4() || s.Network.Bits() > 29 || s.Network.Bits() < 16 {
		errs = append(errs, fmt.Errorf("network: %s: want an IPv4 address and 16 to 29 bits", s.Network))
	} else if room := 1<<(32-s.Network.Bits()) - 3; s.Machines > room { // but the first, the last and this host's
		errs = append(errs, fmt.Errorf("network: %s has addresses for %d machines", s.Network, room))
	}
	return errors.Join(errs...)
}

const (
	minMemoryMiB = 256 // less does not hold kernel and initramfs twice, as firmware does
	maxDisks     = 8
	minDisk      = 1 << 20
)

// need is a file or a program that has to be there.
type need struct {
	what, debian string
	there        func() bool
}

func (s *Settings) needs() []need {
	found := func(paths ...string) func() bool {
		return func() bool {
			return slices.ContainsFunc(paths, func(p string) bool { _, err := os.Stat(p); return err == nil })
		}
	}
	program := func(name string) func() bool {
		return func() bool { _, err := exec.LookPath(name); return err == nil }
	}
	needs := []need{
		{qemu, "qemu-system-x86", program(qemu)},
		{"the boot ROM " + filepath.Base(cardROMs[0]), "ipxe-qemu", found(cardROMs...)},
	}
	has := func(match func(Kind) bool) bool { return slices.ContainsFunc(s.Kinds, match) }
	if has(func(k Kind) bool { return k.Firmware == UEFI }) {
		needs = append(needs, need{ovmfCode, "ovmf", found(ovmfCode)})
	}
	if has(func(k Kind) bool { return k.Firmware == SecureBoot }) {
		needs = append(needs, need{secureVars, "ovmf", found(secureVars)})
	}
	if has(func(k Kind) bool { return k.TPM }) {
		needs = append(needs, need{swtpm, "swtpm", program(swtpm)})
	}
	return needs
}
