//go:build linux

package pid1

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/dhcpv6/nclient6"
	"github.com/insomniacslk/dhcp/iana"
)

const (
	// Retransmission of RFC 8415 §7.6: SOL_TIMEOUT, which doubles.
	solicitTry   = time.Second
	solicitTries = 4
	// enterpriseUEFI is that of the vendor class of UEFI's HTTP boot (UEFI 2.10 §24.7.3.1): Intel's, as EDK II has it.
	enterpriseUEFI = 343
)

// lease6 is an IPv6 address for a while. Times count from when it was given.
type lease6 struct {
	addr                            netip.Addr
	preferred, valid, renew, rebind time.Duration
	servers                         []netip.Addr
	// boot is the URL that the server names for booting, empty: none.
	boot string

	raw *dhcpv6.Message
}

// dhcp6 asks the DHCPv6 servers of one link (RFC 8415).
type dhcp6 struct {
	client *nclient6.Client
	mac    net.HardwareAddr
}

func openDHCP6(link string, mac net.HardwareAddr) (*dhcp6, error) {
	conn, err := nclient6.NewIPv6UDPConn(link, dhcpv6.DefaultClientPort)
	if err != nil {
		return nil, err
	}
	return newDHCP6(conn, mac)
}

func newDHCP6(conn net.PacketConn, mac net.HardwareAddr) (*dhcp6, error) {
	client, err := nclient6.NewWithConn(conn, mac, nclient6.WithTimeout(solicitTry), nclient6.WithRetry(solicitTries))
	if err != nil {
		return nil, err
	}
	return &dhcp6{client, mac}, nil
}

func (d *dhcp6) Close() { _ = d.client.Close() }

// identify replaces the identifier of the library, which has the time in it: this machine is the same each time it boots (RFC 8415 §11.4).
func (d *dhcp6) identify() dhcpv6.Modifier {
	return dhcpv6.WithClientID(&dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: d.mac})
}

var wanted6 = dhcpv6.WithRequestedOptions(dhcpv6.OptionDNSRecursiveNameServer, dhcpv6.OptionBootfileURL)

// get does what a situation asks for: it gets an address, or more time for it.
func (d *dhcp6) get(ctx context.Context, how step, old *lease6) (*lease6, error) {
	var answer *dhcpv6.Message
	var err error
	if how == stepSolicit {
		answer, err = d.solicit(ctx)
	} else {
		answer, err = d.prolong(ctx, how, old)
	}
	if err != nil {
		return nil, err
	}
	return readLease6(answer)
}

// solicit takes the first address that is offered. Servers that only say what to boot offer none.
func (d *dhcp6) solicit(ctx context.Context) (*dhcpv6.Message, error) {
	solicit, err := dhcpv6.NewSolicit(d.mac, d.identify(), wanted6)
	if err != nil {
		return nil, err
	}
	offer, err := d.client.SendAndRead(ctx, d.client.RemoteAddr(), solicit, func(m *dhcpv6.Message) bool {
		_, err := addressOf(m)
		return m.MessageType == dhcpv6.MessageTypeAdvertise && err == nil
	})
	if err != nil {
		return nil, err
	}
	request, err := dhcpv6.NewRequestFromAdvertise(offer, wanted6)
	if err != nil {
		return nil, err
	}
	return d.client.SendAndRead(ctx, d.client.RemoteAddr(), request, nclient6.IsMessageType(dhcpv6.MessageTypeReply))
}

// prolong asks the server that a lease is of, or any server (RFC 8415 §18.2.4, §18.2.5).
func (d *dhcp6) prolong(ctx context.Context, how step, old *lease6) (*dhcpv6.Message, error) {
	m, err := dhcpv6.NewMessage(d.identify(), wanted6)
	if err != nil {
		return nil, err
	}
	m.MessageType = dhcpv6.MessageTypeRebind
	if how == stepRenew {
		m.MessageType = dhcpv6.MessageTypeRenew
		m.AddOption(old.raw.GetOneOption(dhcpv6.OptionServerID))
	}
	m.AddOption(dhcpv6.OptElapsedTime(0))
	m.AddOption(old.raw.Options.OneIANA())
	return d.client.SendAndRead(ctx, d.client.RemoteAddr(), m, nclient6.IsMessageType(dhcpv6.MessageTypeReply))
}

// decline gives back an address that somebody else on the link has (RFC 8415 §18.2.8). Whether the server hears it makes no difference here.
func (d *dhcp6) decline(ctx context.Context, l *lease6) {
	m, err := dhcpv6.NewMessage(d.identify())
	if err != nil {
		return
	}
	m.MessageType = dhcpv6.MessageTypeDecline
	m.AddOption(l.raw.GetOneOption(dhcpv6.OptionServerID))
	m.AddOption(dhcpv6.OptElapsedTime(0))
	m.AddOption(l.raw.Options.OneIANA())
	_, _ = d.client.SendAndRead(ctx, d.client.RemoteAddr(), m, nclient6.IsMessageType(dhcpv6.MessageTypeReply))
}

// addressOf is the address of an answer.
func addressOf(m *dhcpv6.Message) (*dhcpv6.OptIAAddress, error) {
	for _, status := range []*dhcpv6.OptStatusCode{m.Options.Status(), associationStatus(m)} {
		if status != nil && status.StatusCode != iana.StatusSuccess {
			return nil, fmt.Errorf("the DHCP server says %s", status.StatusCode)
		}
	}
	if association := m.Options.OneIANA(); association != nil {
		if a := association.Options.OneAddress(); a != nil && a.ValidLifetime > 0 {
			return a, nil
		}
	}
	return nil, errors.New("the DHCP server gave no address")
}

func associationStatus(m *dhcpv6.Message) *dhcpv6.OptStatusCode {
	association := m.Options.OneIANA()
	if association == nil {
		return nil
	}
	return association.Options.Status()
}

// readLease6 takes what matters out of a reply.
func readLease6(m *dhcpv6.Message) (*lease6, error) {
	a, err := addressOf(m)
	if err != nil {
		return nil, err
	}
	addr, ok := netip.AddrFromSlice(a.IPv6Addr.To16())
	if !ok || !addr.IsGlobalUnicast() || m.GetOneOption(dhcpv6.OptionServerID) == nil {
		return nil, errors.New("the DHCP server's reply is not complete")
	}
	association := m.Options.OneIANA()
	l := &lease6{addr: addr, preferred: a.PreferredLifetime, valid: a.ValidLifetime, renew: association.T1, rebind: association.T2, boot: bootURL6(m), raw: m}
	// A server may leave the times to the client (RFC 8415 §21.4).
	if l.renew == 0 {
		l.renew = l.preferred / 2
	}
	if l.rebind == 0 {
		l.rebind = l.preferred / 5 * 4
	}
	l.renew = min(max(l.renew, leastRenewal), l.valid)
	l.rebind = min(max(l.rebind, l.renew), l.valid)
	for _, ip := range m.Options.DNS() {
		if server, ok := netip.AddrFromSlice(ip.To16()); ok {
			l.servers = append(l.servers, server)
		}
	}
	return l, nil
}

// bootURL6 is option 59 (RFC 5970 §3.1).
func bootURL6(m *dhcpv6.Message) string {
	text := m.Options.BootFileURL()
	if _, err := httpURL(text); err != nil {
		return ""
	}
	return text
}

// bootFrom asks as the firmware did which boot server this machine is for. No address is asked for, so a server that leases none answers as well (RFC 8415 §18.2.6).
func (d *dhcp6) bootFrom(ctx context.Context) string {
	architecture, class := bootClass()
	inform, err := dhcpv6.NewMessage(d.identify(), wanted6, dhcpv6.WithArchType(architecture),
		dhcpv6.WithOption(&dhcpv6.OptVendorClass{EnterpriseNumber: enterpriseUEFI, Data: [][]byte{[]byte(class)}}))
	if err != nil {
		return ""
	}
	inform.MessageType = dhcpv6.MessageTypeInformationRequest
	inform.AddOption(dhcpv6.OptElapsedTime(0))
	ctx, cancel := context.WithTimeout(ctx, askForBoot)
	defer cancel()
	answer, err := d.client.SendAndRead(ctx, d.client.RemoteAddr(), inform, func(m *dhcpv6.Message) bool {
		return m.MessageType == dhcpv6.MessageTypeReply && bootURL6(m) != ""
	})
	if err != nil {
		return ""
	}
	return bootURL6(answer)
}
