package probe

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/host/meminfo"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// Linux is the machine that this process runs on.
//
// What cannot be read is left out: one attribute that only root sees, or a
// controller that answers with an I/O error, must not lose the rest of the
// report. Only a machine whose links cannot be listed is an error.
type Linux struct {
	// FS is the root of the file system. Nil: the real one.
	FS fs.FS
	// Addresses lists the links and their addresses. Nil: the net package.
	Addresses func() ([]Link, error)
	// LLDP hears the neighbours. Nil: they are not reported.
	LLDP *Listener
	// Settle waits until links have the addresses that they are going to get. Nil: they have them.
	Settle func(context.Context)
	// ethtool asks the driver of a link, and endorsement the TPM. Nil: only where FS is the real one.
	ethtool     func(link string) ethtoolInfo
	endorsement func() (string, error)
}

// Link is one network interface as the kernel lists it.
type Link struct {
	Index    int // as packets are told by
	Name     string
	MAC      net.HardwareAddr
	Prefixes []netip.Prefix
	Loopback bool
}

var _ Hardware = Linux{}

// Collect looks at everything once.
func (l Linux) Collect(ctx context.Context) (inspection.Report, error) {
	l = l.withDefaults()
	tree := tree{l.FS}
	var neighbors inspection.LLDP
	if l.LLDP != nil {
		neighbors = l.LLDP.Hear(ctx, func() map[int]linkState { return l.linkStates(tree) })
	}
	if l.Settle != nil {
		l.Settle(ctx)
	}
	if err := ctx.Err(); err != nil {
		return inspection.Report{}, err
	}
	links, err := l.Addresses() // after all that takes time, during which links get addresses
	if err != nil {
		return inspection.Report{}, fmt.Errorf("network interfaces: %w", err)
	}
	return inspection.Report{
		SystemInfo:        systemInfo(tree),
		LLDP:              neighbors,
		PCIDevices:        pciDevices(tree),
		CPU:               processors(tree.read("proc/cpuinfo", 16<<20)),
		NetworkInterfaces: networkInterfaces(tree, links),
		NICs:              controllers(tree, links, l.ethtool),
		Storage:           disks(tree),
		Memory:            memory(tree),
		TPM:               l.tpm(tree),
	}, nil
}

// withDefaults asks this machine where nothing else is said. Drivers and TPM are those of this machine alone.
func (l Linux) withDefaults() Linux {
	ethtool, endorsement := readEthtool, endorsementKey
	if l.FS != nil {
		ethtool, endorsement = func(string) ethtoolInfo { return ethtoolInfo{} }, func() (string, error) { return "", nil }
	} else {
		l.FS = os.DirFS("/")
	}
	if l.ethtool == nil {
		l.ethtool = ethtool
	}
	if l.endorsement == nil {
		l.endorsement = endorsement
	}
	if l.Addresses == nil {
		l.Addresses = systemLinks
	}
	return l
}

// tpm is what is known of the TPM. One that does not tell its key, such as one that an owner has locked, is reported without.
func (l Linux) tpm(t tree) *inspection.TPM {
	found := tpm(t)
	if found != nil && found.Version == "2" {
		found.EndorsementKey, _ = l.endorsement()
	}
	return found
}

// tree reads the small text files of /sys and /proc.
type tree struct{ fs.FS }

func (t tree) read(path string, limit int64) string {
	f, err := t.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	// What was read before an error is still true.
	b, _ := io.ReadAll(io.LimitReader(f, limit))
	return string(b)
}

// text is the value of one attribute file: one page at most, by the rules of
// sysfs.
func (t tree) text(path string) string {
	return strings.TrimSpace(strings.ToValidUTF8(t.read(path, 4096), ""))
}

func (t tree) number(path string) uint64 {
	n, _ := strconv.ParseUint(t.text(path), 10, 64)
	return n
}

func (t tree) flag(path string) bool { return t.text(path) == "1" }

func (t tree) exists(path string) bool {
	_, err := fs.Stat(t.FS, path)
	return err == nil
}

func systemInfo(t tree) inspection.SystemInfo {
	id := func(name string) string { return t.text("sys/class/dmi/id/" + name) }
	return inspection.SystemInfo{
		BIOS: inspection.BIOSInformation{Vendor: id("bios_vendor"), Version: id("bios_version"), Date: id("bios_date")},
		System: inspection.SystemInformation{
			Manufacturer: id("sys_vendor"), ProductName: id("product_name"), Version: id("product_version"),
			SerialNumber: id("product_serial"), UUID: id("product_uuid"), SKUNumber: id("product_sku"), Family: id("product_family"),
		},
		Board: inspection.BoardInformation{
			Manufacturer: id("board_vendor"), Product: id("board_name"), Version: id("board_version"),
			SerialNumber: id("board_serial"), AssetTag: id("board_asset_tag"),
		},
	}
}

// memory lists the modules; where there are no SMBIOS tables, or not for us, it is one
// entry of everything the kernel found.
func memory(t tree) []inspection.MemoryDevice {
	if list := modules([]byte(t.read("sys/firmware/dmi/tables/DMI", maxSMBIOS))); len(list) > 0 {
		return list
	}
	if total := meminfo.Total(t.read(meminfo.Path[1:], 1<<16)); total > 0 {
		return []inspection.MemoryDevice{{SizeBytes: total, DeviceLocator: "total"}}
	}
	return nil
}

// SystemUUID is what the machine says of itself; empty where it does not.
func (l Linux) SystemUUID() string {
	t := tree{l.FS}
	if l.FS == nil {
		t.FS = os.DirFS("/")
	}
	return t.text("sys/class/dmi/id/product_uuid")
}
