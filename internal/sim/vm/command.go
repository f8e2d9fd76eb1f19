package vm

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/sim"
)

// The descriptors that QEMU is started with, beside the standard ones. A socket without a name can be reached by nobody else.
const (
	qmpFD = 3
	tpmFD = 4
)

// spec is one machine as QEMU needs to know it.
type spec struct {
	sim.Chassis
	kind Kind
	// tap is the machine's interface in the namespace; dir keeps its files.
	tap, dir string
}

// Files of a machine.
func (s spec) disk(i int) string { return filepath.Join(s.dir, fmt.Sprintf("disk%d.img", i+1)) }
func (s spec) variables() string { return filepath.Join(s.dir, "nvram.fd") }
func (s spec) console() string   { return filepath.Join(s.dir, "console.log") }
func (s spec) tpmDir() string    { return filepath.Join(s.dir, "tpm") }

// arguments are those of QEMU for one start of the firmware. variables is the file that its variables are in.
func (s spec) arguments(p plan, variables string) []string {
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-sandbox", "on,spawn=deny",
		"-name", s.Name, "-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", strconv.Itoa(s.MemoryMiB),
		"-no-reboot", // a restart is a process of its own
		"-chardev", "stdio,id=serial,signal=off", "-serial", "chardev:serial",
		"-chardev", fmt.Sprintf("socket,id=qmp,fd=%d", qmpFD), "-mon", "chardev=qmp,mode=control",
		"-device", "virtio-rng-pci",
	}
	args = append(args, s.identity(p.uefi)...)
	args = append(args, s.firmware(p.uefi, variables)...)
	args = append(args, s.card(p)...)
	return append(args, s.drives(p)...)
}

// identity is what the machine says of itself in SMBIOS (DSP0134 §7.1 to §7.4), as its BMC does.
func (s spec) identity(uefi bool) []string {
	return []string{
		"-uuid", s.UUID,
		"-smbios", option("type=0", "vendor", s.Manufacturer, "version", s.BIOSVersion, "date", "01/15/2026", "uefi", onOff(uefi)),
		"-smbios", option("type=1", "manufacturer", s.Manufacturer, "product", s.Model, "serial", s.Serial, "uuid", s.UUID, "sku", s.SKU),
		"-smbios", option("type=2", "manufacturer", s.Manufacturer, "product", s.Model+" board", "serial", s.BoardSerial),
		"-smbios", option("type=3", "manufacturer", s.Manufacturer, "serial", s.Serial),
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// option is an option of QEMU, in which a comma is doubled.
func option(first string, pairs ...string) string {
	var b strings.Builder
	b.WriteString(first)
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&b, ",%s=%s", pairs[i], strings.ReplaceAll(pairs[i+1], ",", ",,"))
	}
	return b.String()
}

// firmware is OVMF with variables of this machine's own, or SeaBIOS, which QEMU starts by itself. The latter writes to the serial console where the machine has
// no screen (graphics=off).
func (s spec) firmware(uefi bool, variables string) []string {
	machine, code := "q35,graphics=off", ovmfCode
	var args []string
	switch {
	case !uefi:
		args = []string{"-machine", machine}
	case s.kind.Firmware == SecureBoot:
		code = secureCode
		args = []string{"-machine", machine + ",smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on"}
	default:
		args = []string{"-machine", machine}
	}
	if uefi {
		args = append(args,
			"-drive", option("if=pflash,format=raw,readonly=on", "file", code),
			"-drive", option("if=pflash,format=raw", "file", variables))
	}
	if s.kind.TPM {
		args = append(args, "-chardev", fmt.Sprintf("socket,id=tpm,fd=%d", tpmFD), "-tpmdev", "emulator,id=tpm0,chardev=tpm", "-device", "tpm-crb,tpmdev=tpm0")
	}
	return args
}

// card is the network card. Its boot ROM, which is iPXE, would take the card from a firmware that boots over HTTP itself; and PXE, which firmware tries first,
// takes it minutes.
func (s spec) card(p plan) []string {
	card := []string{"netdev", "n0", "mac", s.MAC}
	var args []string
	if p.index(sim.BootUEFIHTTP) >= 0 {
		card = append(card, "romfile", "")
		for _, family := range []string{"IPv4", "IPv6"} {
			args = append(args, "-fw_cfg", "name=opt/org.tianocore/"+family+"PXESupport,string=n")
		}
	}
	// A boot option that the variables name comes first only where no other order is given.
	if i := p.index(sim.BootPXE, sim.BootUEFIHTTP); i >= 0 && p.uri == "" {
		card = append(card, "bootindex", strconv.Itoa(i))
	}
	return append(args, "-netdev", "tap,id=n0,ifname="+s.tap+",script=no,downscript=no", "-device", option("virtio-net-pci", card...))
}

// drives are NVMe disks. Firmware finds one in its boot order only where controller and namespace are one device of QEMU; that has no worldwide name.
func (s spec) drives(p plan) (args []string) {
	for i, d := range s.Disks {
		id := strconv.Itoa(i)
		disk := []string{"id", "nvme" + id, "drive", "d" + id, "serial", d.Serial}
		if at := p.index(sim.BootDisk); at >= 0 && i == 0 && p.uri == "" {
			disk = append(disk, "bootindex", strconv.Itoa(at))
		}
		args = append(args, "-drive", option("if=none,format=raw,discard=unmap,id=d"+id, "file", s.disk(i)), "-device", option("nvme", disk...))
	}
	return args
}
