package probe

import (
	"net"
	"net/netip"
	"strings"

	"github.com/farrier-dev/farrier/internal/inspection"
)

func networkInterfaces(t tree, links []Link) []inspection.NetworkInterface {
	var out []inspection.NetworkInterface
	for _, link := range links {
		if link.Loopback || len(link.MAC) == 0 {
			continue
		}
		n := inspection.NetworkInterface{Name: link.Name, MACAddress: link.MAC.String(), CarrierStatus: inspection.CarrierDown}
		// Reading carrier fails with EINVAL while the link is administratively
		// down, which is down all the same.
		if t.flag("sys/class/net/" + link.Name + "/carrier") {
			n.CarrierStatus = inspection.CarrierUp
		}
		for _, p := range link.Prefixes {
			n.IPAddresses = append(n.IPAddresses, p.Addr().WithZone("").String())
		}
		out = append(out, n)
	}
	return out
}

// controllers are the links that stand on hardware: bridges, bonds and tunnels
// have no device directory.
func controllers(t tree, links []Link, ethtool func(string) ethtoolInfo) []inspection.NIC {
	var out []inspection.NIC
	for _, link := range links {
		dir := "sys/class/net/" + link.Name
		if link.Loopback || len(link.MAC) == 0 || !t.exists(dir+"/device") {
			continue
		}
		told := ethtool(link.Name)
		nic := inspection.NIC{
			Name: link.Name, MAC: link.MAC.String(), PCIAddress: pciAddress(t.text(dir + "/device/uevent")),
			LinkModes: told.linkModes, SupportedPorts: told.ports, FirmwareVersion: told.firmware,
		}
		// The kernel says -1, or nothing at all, where there is no link.
		if mbit := t.number(dir + "/speed"); mbit > 0 {
			nic.Speed = t.text(dir+"/speed") + "Mb/s"
		}
		out = append(out, nic)
	}
	return out
}

// linkStates are the links on hardware: on others nobody speaks LLDP to this machine. That
// they cannot be listed now may pass.
func (l Linux) linkStates(t tree) map[int]linkState {
	links, err := l.Addresses()
	if err != nil {
		return nil
	}
	out := map[int]linkState{}
	for _, link := range links {
		dir := "sys/class/net/" + link.Name
		if !link.Loopback && len(link.MAC) > 0 && t.exists(dir+"/device") {
			out[link.Index] = linkState{name: link.Name, up: t.flag(dir + "/carrier")}
		}
	}
	return out
}

func pciAddress(uevent string) string {
	for line := range strings.Lines(uevent) {
		if address, ok := strings.CutPrefix(strings.TrimSpace(line), "PCI_SLOT_NAME="); ok {
			return address
		}
	}
	return ""
}

func systemLinks() ([]Link, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	links := make([]Link, 0, len(interfaces))
	for _, i := range interfaces {
		link := Link{Index: i.Index, Name: i.Name, MAC: i.HardwareAddr, Loopback: i.Flags&net.FlagLoopback != 0}
		// A link may vanish between the two calls; it is then one without
		// addresses.
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				link.Prefixes = append(link.Prefixes, p)
			}
		}
		links = append(links, link)
	}
	return links, nil
}
