package neighbour

import (
	"net/netip"

	"github.com/vishvananda/netlink"

	"github.com/farrier-dev/farrier/internal/identity"
)

// kernel reads the neighbour tables of both families.
func kernel() (map[netip.Addr]string, error) {
	list, err := netlink.NeighList(0, netlink.FAMILY_ALL)
	if err != nil {
		return nil, err
	}
	macs := make(map[netip.Addr]string, len(list))
	for i := range list {
		n := &list[i]
		address, ok := netip.AddrFromSlice(n.IP)
		mac, err := identity.MAC(n.HardwareAddr.String())
		if !ok || err != nil || n.State&useless != 0 {
			continue
		}
		macs[address.Unmap()] = mac
	}
	return macs, nil
}

// useless are the states of an entry whose MAC address was not, or not any more, answered by the host itself (NUD_INCOMPLETE, NUD_FAILED).
const useless = netlink.NUD_INCOMPLETE | netlink.NUD_FAILED
