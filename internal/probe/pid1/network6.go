//go:build linux

package pid1

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

const (
	// routerManaged is IF_RA_MANAGED of the kernel (include/net/if_inet6.h): the newest router advertisement of the link has the flag M.
	routerManaged = 0x40
	// detectionWait is how long the kernel may take to find out whether somebody else has an address (RFC 4862 §5.4), and detectionLook how often it is asked.
	detectionWait = 4 * time.Second
	detectionLook = 200 * time.Millisecond
	// unaskedPause is between attempts to get an address where no router has said that there is DHCP.
	unaskedPause = 30 * time.Second
)

// keep6 gives a link an IPv6 address where it does not get one by itself, from router advertisements (RFC 4862), and keeps it. Where it does, DHCP servers are asked
// only what this machine boots.
func (n *network) keep6(ctx context.Context, link net.Interface) {
	k := keeper6{n: n, link: link, since: time.Now()}
	for ctx.Err() == nil {
		if !hasCarrier(link.Name) {
			if k.lease != nil { // the next partner may be of another network
				_ = drop6(link.Index, k.lease)
			}
			k = keeper6{n: n, link: link, since: time.Now()}
			sleep(ctx, carrierWait)
			continue
		}
		sleep(ctx, k.once(ctx))
	}
}

// keeper6 is the state of a link.
type keeper6 struct {
	n            *network
	link         net.Interface
	since, given time.Time
	lease        *lease6
	asked        int
}

// once does what is next, and returns for how long there is nothing to do.
func (k *keeper6) once(ctx context.Context) time.Duration {
	s := situation{up: time.Since(k.since), asked: k.asked, lease: k.lease, held: time.Since(k.given), unknown: k.n.asks && len(k.n.offered()) == 0}
	s.managed, s.address = routerSays(k.link.Index), k.hasOwn()
	how, pause := s.next()
	if how == stepWait {
		return pause
	}
	client, err := openDHCP6(k.link.Name, k.link.HardwareAddr)
	if err != nil { // the kernel is still looking whether somebody else has the link-local address
		return lookAgain
	}
	defer client.Close()
	if how == stepInform {
		k.asked++
		k.n.learn(source{k.link.Index, 6}, k.servers(), client.bootFrom(ctx))
		return 0
	}
	err = k.take(ctx, client, how)
	switch {
	case err == nil:
		return 0
	case !s.managed: // most networks without DHCPv6 are such, and nobody needs to read it
		return unaskedPause
	}
	k.n.logger.Info("no IPv6 address by DHCP, asking again", "link", k.link.Name, "error", err)
	return leasePause
}

func (k *keeper6) servers() []netip.Addr {
	if k.lease == nil {
		return nil
	}
	return k.lease.servers
}

// take asks for an address and sets it.
func (k *keeper6) take(ctx context.Context, client *dhcp6, how step) error {
	if how == stepSolicit {
		k.lease = nil // it has run out
	}
	got, err := client.get(ctx, how, k.lease)
	if err != nil {
		return err
	}
	before := k.lease
	if err := set6(ctx, k.link.Index, got, before); err != nil {
		if errors.Is(err, errTaken) {
			client.decline(ctx, got)
			k.lease = nil
		}
		return err
	}
	if before == nil || before.addr != got.addr {
		k.n.logger.Info("address assigned by DHCP", "link", k.link.Name, "address", got.addr.String())
	}
	k.lease, k.given = got, time.Now()
	k.n.learn(source{k.link.Index, 6}, got.servers, got.boot)
	return nil
}

// hasOwn reports whether the link has an address that the kernel has made of a router's prefix.
func (k *keeper6) hasOwn() bool {
	link, err := netlink.LinkByIndex(k.link.Index)
	if err != nil {
		return false
	}
	addrs, err := netlink.AddrList(link, netlink.FAMILY_V6)
	if err != nil {
		return false
	}
	for _, a := range addrs {
		own := k.lease == nil || !a.IP.Equal(k.lease.addr.AsSlice())
		if own && a.IP.IsGlobalUnicast() && a.Flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) == 0 {
			return true
		}
	}
	return false
}

var errTaken = errors.New("somebody else on the link has the address")

// set6 puts an address on a link and waits until the kernel knows that nobody else has it. Which addresses are neighbours the kernel learns from routers: DHCP does not
// say it (RFC 5942 §4).
func set6(ctx context.Context, index int, l, before *lease6) error {
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return err
	}
	if before != nil && before.addr != l.addr {
		_ = drop6(index, before) // it may have gone by itself
	}
	if err := netlink.AddrReplace(link, address6(l)); err != nil {
		return err
	}
	for deadline := time.Now().Add(detectionWait); ctx.Err() == nil && time.Now().Before(deadline); sleep(ctx, detectionLook) {
		addrs, err := netlink.AddrList(link, netlink.FAMILY_V6)
		if err != nil {
			return err
		}
		for _, a := range addrs {
			switch {
			case !a.IP.Equal(l.addr.AsSlice()):
			case a.Flags&unix.IFA_F_DADFAILED != 0:
				return errors.Join(errTaken, drop6(index, l))
			case a.Flags&unix.IFA_F_TENTATIVE == 0:
				return nil
			}
		}
	}
	return nil // a kernel that cannot tell
}

// drop6 takes an address from a link.
func drop6(index int, l *lease6) error {
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return err
	}
	return netlink.AddrDel(link, address6(l))
}

// foreverLifetime is an address that does not run out (RFC 8415 §7.7).
const foreverLifetime = 1<<32 - 1

func address6(l *lease6) *netlink.Addr {
	a := &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(l.addr, l.addr.BitLen())), ValidLft: int(l.valid / time.Second), PreferedLft: int(l.preferred / time.Second)}
	if a.ValidLft == foreverLifetime {
		a.ValidLft, a.PreferedLft = 0, 0
	}
	return a
}

// routerSays reports whether a router of the link has hosts ask DHCP for addresses.
func routerSays(index int) (managed bool) {
	request := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP)
	request.AddData(nl.NewIfInfomsg(unix.AF_INET6))
	answers, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return false
	}
	for _, answer := range answers {
		if flags, ok := inet6Flags(answer, index); ok {
			return flags&routerManaged != 0
		}
	}
	return false
}

// inet6Flags are those of a link in a message of the kernel's about it.
func inet6Flags(message []byte, index int) (flags uint32, ok bool) {
	if len(message) < unix.SizeofIfInfomsg || int(nl.DeserializeIfInfomsg(message).Index) != index {
		return 0, false
	}
	attributes, err := nl.ParseRouteAttr(message[unix.SizeofIfInfomsg:])
	if err != nil {
		return 0, false
	}
	for _, a := range attributes {
		if a.Attr.Type&^unix.NLA_F_NESTED != unix.IFLA_PROTINFO {
			continue
		}
		inner, err := nl.ParseRouteAttr(a.Value)
		if err != nil {
			return 0, false
		}
		for _, i := range inner {
			if i.Attr.Type == unix.IFLA_INET6_FLAGS && len(i.Value) >= 4 {
				return binary.NativeEndian.Uint32(i.Value), true
			}
		}
	}
	return 0, false
}
