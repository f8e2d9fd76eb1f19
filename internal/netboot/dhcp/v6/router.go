package v6

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/ipv6"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
)

const (
	// advertiseEvery is within what RFC 4861 §6.2.1 allows; hosts that do not want to wait ask.
	advertiseEvery = 3 * time.Minute
	// hopLimit proves that a message of neighbour discovery comes from the segment itself (RFC 4861 §6.1).
	hopLimit = 255
	// answersASecond bounds answers to solicitations; they go to all hosts (RFC 4861 §6.2.6).
	answersASecond = 1
)

var (
	allHosts   = &net.IPAddr{IP: net.ParseIP("ff02::1")}
	allRouters = &net.IPAddr{IP: net.ParseIP("ff02::2")}
)

// Router sends router advertisements on one interface, which tell hosts that there is DHCP.
type Router struct {
	Interface *net.Interface
	Prefixes  []netip.Prefix
	Clock     clock.WithTicker
}

// Open opens a socket of neighbour discovery.
func (r Router) Open(ctx context.Context) (*ipv6.PacketConn, error) {
	c, err := (&net.ListenConfig{}).ListenPacket(ctx, "ip6:ipv6-icmp", "::")
	if err != nil {
		return nil, err
	}
	conn := ipv6.NewPacketConn(c)
	var filter ipv6.ICMPFilter
	filter.SetAll(true)
	filter.Accept(ipv6.ICMPTypeRouterSolicitation)
	err = errors.Join(
		conn.SetICMPFilter(&filter), conn.SetMulticastHopLimit(hopLimit), conn.SetMulticastLoopback(false), conn.SetMulticastInterface(r.Interface),
		conn.JoinGroup(r.Interface, allRouters), conn.SetControlMessage(ipv6.FlagHopLimit|ipv6.FlagInterface, true),
	)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Serve advertises until ctx ends, and closes the socket.
func (r Router) Serve(ctx context.Context, conn *ipv6.PacketConn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	asked := make(chan struct{}, 1)
	go r.listen(conn, asked)
	packet := advertisement(r.Interface.HardwareAddr, r.Prefixes)
	limit := ratelimit.New(answersASecond, answersASecond, r.Clock)
	for {
		// What cannot be sent now, while the link is down, is sent the next time.
		_, _ = conn.WriteTo(packet, &ipv6.ControlMessage{IfIndex: r.Interface.Index, HopLimit: hopLimit}, &net.IPAddr{IP: allHosts.IP, Zone: r.Interface.Name})
		timer := r.Clock.NewTimer(advertiseEvery)
		if !next(ctx, timer, asked, limit) {
			return nil
		}
	}
}

// next waits until it is time for an advertisement; false: ctx has ended.
func next(ctx context.Context, timer clock.Timer, asked chan struct{}, limit *ratelimit.Limiter) bool {
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C():
			return true
		case <-asked:
			if limit.Allow(netip.IPv6Unspecified()) {
				return true
			}
		}
	}
}

// listen says when a host of the segment asks.
func (r Router) listen(conn *ipv6.PacketConn, asked chan<- struct{}) {
	buf := make([]byte, 1500)
	for {
		n, control, _, err := conn.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || control == nil || control.HopLimit != hopLimit || control.IfIndex != r.Interface.Index || !isSolicitation(buf[:n]) {
			continue
		}
		select {
		case asked <- struct{}{}:
		default:
		}
	}
}
