//go:build linux

package pid1

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"
	"github.com/insomniacslk/dhcp/iana"
)

const (
	leaseTry = 4 * time.Second
	// askForBoot is how long DHCP servers have to name what a machine boots. A proxyDHCP server may be another than the one that leases.
	askForBoot = 3 * time.Second
	// leastRenewal keeps a server with very short leases from being asked all the time.
	leastRenewal = 30 * time.Second
)

// lease is an address for a while.
type lease struct {
	prefix  netip.Prefix
	router  netip.Addr // invalid: none
	servers []netip.Addr
	seconds time.Duration
	// boot is the URL that the server names for booting, empty: none.
	boot string

	raw *nclient4.Lease
}

// dhcp asks the DHCP servers of one link (RFC 2131).
type dhcp struct {
	client *nclient4.Client
	mac    net.HardwareAddr
}

func openDHCP(link string, mac net.HardwareAddr) (*dhcp, error) {
	client, err := nclient4.New(link, nclient4.WithTimeout(leaseTry), nclient4.WithRetry(3))
	if err != nil {
		return nil, err
	}
	return &dhcp{client, mac}, nil
}

func (d *dhcp) Close() { _ = d.client.Close() }

// get asks for a lease, or for a longer one if there is one already.
func (d *dhcp) get(ctx context.Context, old *lease) (*lease, error) {
	var raw *nclient4.Lease
	var err error
	if old != nil {
		raw, err = d.client.Renew(ctx, old.raw)
	} else {
		raw, err = d.client.Request(ctx, dhcpv4.WithRequestedOptions(dhcpv4.OptionBootfileName, dhcpv4.OptionDomainNameServer))
	}
	if err != nil {
		return nil, err
	}
	l, err := readLease(raw.ACK)
	if err != nil {
		return nil, err
	}
	l.raw = raw
	return l, nil
}

// readLease takes what matters out of an acknowledgement.
func readLease(ack *dhcpv4.DHCPv4) (*lease, error) {
	addr, ok := netip.AddrFromSlice(ack.YourIPAddr.To4())
	ones, bits := ack.SubnetMask().Size()
	if bits != 32 {
		ones = 24 // a server that tells no mask; routers answer for what is elsewhere
	}
	if !ok || addr.IsUnspecified() {
		return nil, fmt.Errorf("the DHCP server gave no address")
	}
	l := &lease{prefix: netip.PrefixFrom(addr, ones), seconds: ack.IPAddressLeaseTime(time.Hour), boot: bootURL(ack)}
	if routers := ack.Router(); len(routers) > 0 {
		l.router, _ = netip.AddrFromSlice(routers[0].To4())
	}
	for _, ip := range ack.DNS() {
		if server, ok := netip.AddrFromSlice(ip.To4()); ok {
			l.servers = append(l.servers, server)
		}
	}
	return l, nil
}

// renewal is when a lease is asked for again: T1 of RFC 2131 §4.4.5.
func (l *lease) renewal() time.Duration { return max(l.seconds/2, leastRenewal) }

// bootURL is option 67, or the field of a BOOTP server (RFC 2132 §9.5).
func bootURL(p *dhcpv4.DHCPv4) string {
	for _, text := range []string{p.BootFileNameOption(), p.BootFileName} {
		if _, err := httpURL(text); err == nil {
			return text
		}
	}
	return ""
}

// bootClass is what firmware that boots over HTTP says of itself.
func bootClass() (iana.Arch, string) {
	if isARM {
		return iana.EFI_ARM64_HTTP, "HTTPClient:Arch:00019:UNDI:003001"
	}
	return iana.EFI_X86_64_HTTP, "HTTPClient:Arch:00016:UNDI:003001"
}

// bootFrom asks as the firmware did which boot server this machine is for (UEFI 2.10 §24.7.3.1). Nothing is leased. Servers that name none are passed over.
func (d *dhcp) bootFrom(ctx context.Context) string {
	architecture, class := bootClass()
	discover, err := dhcpv4.NewDiscovery(d.mac, dhcpv4.WithOption(dhcpv4.OptClassIdentifier(class)),
		dhcpv4.WithOption(dhcpv4.OptClientArch(architecture)), dhcpv4.WithRequestedOptions(dhcpv4.OptionBootfileName, dhcpv4.OptionClassIdentifier))
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, askForBoot)
	defer cancel()
	offer, err := d.client.SendAndRead(ctx, nclient4.DefaultServers, discover, func(p *dhcpv4.DHCPv4) bool {
		return p.MessageType() == dhcpv4.MessageTypeOffer && bootURL(p) != ""
	})
	if err != nil {
		return ""
	}
	return bootURL(offer)
}
