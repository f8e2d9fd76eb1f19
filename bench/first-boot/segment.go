//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

const (
	hostAddress = "192.0.2.1"
	bridge, tap = "br0", "tap0"
	leases      = "192.0.2.100,192.0.2.110"
)

// makeSegment makes the bridge that the machine's card is on.
func makeSegment(ctx context.Context) error {
	for _, args := range []string{
		"link set lo up", "link add " + bridge + " type bridge forward_delay 0", "addr add " + hostAddress + "/24 dev " + bridge,
		"tuntap add dev " + tap + " mode tap", "link set " + tap + " master " + bridge, "link set " + tap + " up", "link set " + bridge + " up",
	} {
		if out, err := exec.CommandContext(ctx, "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w\n%s", args, err, out)
		}
	}
	return nil
}

// neighborhood is what the network of a rack says by itself, each second: a router advertises that there is neither DHCPv6 nor a route, for which iPXE waits 14 s elsewhere, and a
// switch says who it is by LLDP, for which the discovery image waits 30 s elsewhere. Both sides have it. It ends with ctx.
func neighborhood(ctx context.Context) error {
	router, err := openRouter(ctx)
	if err != nil {
		return err
	}
	card, err := net.InterfaceByName(tap)
	if err != nil {
		return errors.Join(err, router.Close())
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return errors.Join(err, router.Close())
	}
	go func() {
		defer func() { _, _ = router.Close(), unix.Close(fd) }()
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for ctx.Err() == nil {
			// While no machine is there, nothing can be sent.
			_, _ = router.WriteTo(advertisement, nil, &net.IPAddr{IP: net.IPv6linklocalallnodes, Zone: bridge})
			_ = unix.Sendto(fd, lldp, 0, &unix.SockaddrLinklayer{Ifindex: card.Index})
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	}()
	return nil
}

// advertisement has no flag, no lifetime as a router and no prefix (RFC 4861 §4.2). The kernel adds the checksum.
var advertisement = []byte{0: 134, 4: 64, 15: 0}

// lldp is a frame with chassis, port and time to live (IEEE 802.1AB §8.2).
var lldp = []byte("\x01\x80\xc2\x00\x00\x0e\x02\x00\x5e\x00\x53\x01\x88\xcc\x02\x07\x04\x02\x00\x5e\x00\x53\x01\x04\x03\x05p1\x06\x02\x00\x78\x00\x00")

func openRouter(ctx context.Context) (*ipv6.PacketConn, error) {
	c, err := (&net.ListenConfig{}).ListenPacket(ctx, "ip6:ipv6-icmp", "::")
	if err != nil {
		return nil, err
	}
	conn := ipv6.NewPacketConn(c)
	link, err := net.InterfaceByName(bridge)
	if err == nil {
		err = errors.Join(conn.SetMulticastInterface(link), conn.SetMulticastHopLimit(255))
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
