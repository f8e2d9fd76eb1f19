package probe

import (
	"bufio"
	"path"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// pciIDs are the places where distributions keep the names of PCI devices.
var pciIDs = []string{"usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids", "usr/share/pci.ids"}

const maxPCIIDs = 8 << 20

// pciDevices lists the functions of the PCI buses, with names where a list of names is.
func pciDevices(t tree) []inspection.PCIDevice {
	var out []inspection.PCIDevice
	for _, address := range t.list("sys/bus/pci/devices") {
		dir := path.Join("sys/bus/pci/devices", address)
		id := func(name string) string { return strings.TrimPrefix(strings.ToLower(t.text(dir+"/"+name)), "0x") }
		d := inspection.PCIDevice{Address: address, VendorID: id("vendor"), ProductID: id("device")}
		// -1 says that the platform has no nodes, which a report says with 0.
		if node, err := strconv.Atoi(t.text(dir + "/numa_node")); err == nil && node > 0 {
			d.NUMANodeID = node
		}
		out = append(out, d)
	}
	if len(out) > 0 {
		nameDevices(out, pciNames(t))
	}
	return out
}

func pciNames(t tree) string {
	for _, at := range pciIDs {
		if text := t.read(at, maxPCIIDs); text != "" {
			return text
		}
	}
	return ""
}

// nameDevices goes once through a list of names: vendors at the beginning of a line, their
// devices behind one tab, subsystems behind two. The classes at its end begin with "C ".
func nameDevices(devices []inspection.PCIDevice, names string) {
	byVendor := map[string][]*inspection.PCIDevice{}
	for i := range devices {
		byVendor[devices[i].VendorID] = append(byVendor[devices[i].VendorID], &devices[i])
	}
	var here []*inspection.PCIDevice
	lines := bufio.NewScanner(strings.NewReader(names))
	for lines.Scan() {
		line := lines.Text()
		text, device := strings.CutPrefix(line, "\t")
		id, name, ok := strings.Cut(text, "  ")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(text, "\t") {
			continue
		}
		if device {
			for _, d := range here {
				if d.ProductID == id {
					d.Product = name
				}
			}
			continue
		}
		here = byVendor[id]
		for _, d := range here {
			d.Vendor = name
		}
	}
}
