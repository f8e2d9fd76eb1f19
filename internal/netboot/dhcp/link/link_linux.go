package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

// Listen opens a UDP socket that receives from one interface alone, by broadcast too. network is udp4 or udp6.
func Listen(ctx context.Context, network string, i Interface, port uint16) (*net.UDPConn, error) {
	c := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		controlled := raw.Control(func(fd uintptr) {
			err = errors.Join(
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1),
				unix.BindToDevice(int(fd), i.Name),
			)
		})
		return errors.Join(controlled, err)
	}}
	conn, err := c.ListenPacket(ctx, network, fmt.Sprintf(":%d", port))
	if err != nil {
		return nil, fmt.Errorf("interface %q: %w", i.Name, err)
	}
	udp, ok := conn.(*net.UDPConn)
	if !ok { // what net returns for udp4 and udp6
		return nil, errors.Join(ErrUnsupported, conn.Close())
	}
	return udp, nil
}

// Raw sends and asks on one interface, below UDP.
type Raw struct {
	iface Interface
	// neighbours asks hosts of the segment, by ARP, and others those behind a relay, by ICMP.
	neighbours, others inquiry

	mu sync.Mutex
	fd int // of the packet socket for IPv4; -1: not open
}

// OpenRaw opens no socket before it is needed.
func OpenRaw(i Interface) *Raw {
	return &Raw{iface: i, fd: -1, neighbours: inquiry{open: func() (socket, error) { return openARP(i) }}, others: inquiry{open: openEcho}}
}

// Send sends a datagram to a host by its MAC address, since it has no IP address yet that the kernel could ask for.
func (r *Raw) Send(from, to netip.AddrPort, mac net.HardwareAddr, payload []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fd < 0 {
		// Of no protocol, it receives nothing.
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("packet socket: %w", err)
		}
		r.fd = fd
	}
	to4 := &unix.SockaddrLinklayer{Protocol: network16(unix.ETH_P_IP), Ifindex: r.iface.Index, Halen: uint8(len(mac))}
	copy(to4.Addr[:], mac)
	return unix.Sendto(r.fd, datagram(from, to, payload), 0, to4)
}

// Close closes the socket.
func (r *Raw) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fd < 0 {
		return nil
	}
	fd := r.fd
	r.fd = -1
	return unix.Close(fd)
}

func network16(n uint16) uint16 { return n<<8 | n>>8 }

// InUse asks the segment whether somebody other than mac has an address. It waits for as long as ctx lets it, or for an answer.
func (r *Raw) InUse(ctx context.Context, a netip.Addr, mac net.HardwareAddr) (bool, error) {
	for _, p := range r.iface.Subnets {
		if p.Contains(a) {
			return r.neighbours.ask(ctx, a, mac.String(), r.iface.MAC.String())
		}
	}
	return r.others.ask(ctx, a)
}

// arpSocket asks by ARP.
type arpSocket struct {
	*os.File
	of Interface
	to unix.SockaddrLinklayer
}

func openARP(i Interface) (socket, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(network16(unix.ETH_P_ARP)))
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	s := &arpSocket{File: os.NewFile(uintptr(fd), "arp"), of: i, to: unix.SockaddrLinklayer{Protocol: network16(unix.ETH_P_ARP), Ifindex: i.Index}}
	if err := unix.Bind(fd, &s.to); err != nil {
		return nil, errors.Join(fmt.Errorf("packet socket: %w", err), s.Close())
	}
	s.to.Halen = 6
	copy(s.to.Addr[:], bytes.Repeat([]byte{0xff}, 6))
	return s, nil
}

func (s *arpSocket) send(a netip.Addr) error {
	raw, err := s.SyscallConn()
	if err != nil {
		return fmt.Errorf("ARP probe: %w", err)
	}
	to, sent := s.to, error(nil)
	err = raw.Write(func(fd uintptr) bool {
		sent = unix.Sendto(int(fd), arpProbe(s.of.MAC, a), 0, &to)
		return !errors.Is(sent, unix.EAGAIN)
	})
	if err = errors.Join(err, sent); err != nil {
		return fmt.Errorf("ARP probe: %w", err)
	}
	return nil
}

func (s *arpSocket) receive() (netip.Addr, string, error) {
	b := make([]byte, 1500)
	n, err := s.Read(b)
	if err != nil {
		return netip.Addr{}, "", err
	}
	sender, has, _ := arpSender(b[:n])
	return has, sender.String(), nil
}

// toPort lets UDP datagrams to a port through, which are not fragments. It counts from the IP header.
func toPort(port uint16) []bpf.Instruction {
	const fragment = 0x3fff // more of them, or not the first one
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protocolUDP, SkipTrue: 6},
		bpf.LoadAbsolute{Off: 6, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: fragment, SkipTrue: 4},
		bpf.LoadMemShift{Off: 0},
		bpf.LoadIndirect{Off: 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(port), SkipTrue: 1},
		bpf.RetConstant{Val: 1 << 16},
		bpf.RetConstant{Val: 0},
	}
}

// toPort6 is toPort of IPv6.
func toPort6(port uint16) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 6, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protocolUDP, SkipTrue: 3},
		bpf.LoadAbsolute{Off: ipv6Header + 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(port), SkipTrue: 1},
		bpf.RetConstant{Val: 1 << 16},
		bpf.RetConstant{Val: 0},
	}
}

// attach has a socket receive what a filter lets through.
func attach(fd int, instructions []bpf.Instruction) error {
	program, err := bpf.Assemble(instructions)
	if err != nil {
		return fmt.Errorf("packet filter: %w", err)
	}
	var filter []unix.SockFilter
	for _, i := range program {
		filter = append(filter, unix.SockFilter{Code: i.Op, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}); err != nil {
		return fmt.Errorf("packet filter: %w", err)
	}
	return nil
}

// Broadcast sends a datagram to all hosts of the segment, or over IPv6 to those of a group, and hands over what anybody sends to the port that it comes from, until ctx ends. It takes
// no port from the host, whose own DHCP client may be listening there.
func (r *Raw) Broadcast(ctx context.Context, from, to netip.AddrPort, payload []byte, heard func(from netip.AddrPort, payload []byte)) error {
	// Of no protocol, it receives nothing before it has its filter.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("packet socket: %w", err)
	}
	f := os.NewFile(uintptr(fd), "datagrams")
	defer func() { _ = f.Close() }()
	all, filter := &unix.SockaddrLinklayer{Protocol: network16(unix.ETH_P_IP), Ifindex: r.iface.Index}, toPort(from.Port())
	group := bytes.Repeat([]byte{0xff}, 6)
	if to.Addr().Is6() {
		all.Protocol, filter = network16(unix.ETH_P_IPV6), toPort6(from.Port())
		copy(group[2:], to.Addr().AsSlice()[12:])
		group[0], group[1] = 0x33, 0x33 // RFC 2464 §7
	}
	if err := attach(fd, filter); err != nil {
		return err
	}
	if err := unix.Bind(fd, all); err != nil {
		return fmt.Errorf("packet socket: %w", err)
	}
	all.Halen = 6
	copy(all.Addr[:], group)
	if err := unix.Sendto(fd, datagram(from, to, payload), 0, all); err != nil {
		return fmt.Errorf("broadcast: %w", err)
	}
	_, err = answered(ctx, f, f.Read, func(b []byte) bool {
		if sender, port, data, ok := received(b); ok && port == from.Port() {
			heard(sender, data)
		}
		return false
	})
	return err
}

// echoSocket asks by ICMP.
type echoSocket struct {
	*net.IPConn
	id uint16
}

func openEcho() (socket, error) {
	conn, err := net.ListenIP("ip4:icmp", nil)
	if err != nil {
		return nil, err
	}
	return &echoSocket{conn, uint16(rand.Uint32())}, nil
}

func (s *echoSocket) send(a netip.Addr) error {
	_, err := s.WriteToIP(echo(s.id), &net.IPAddr{IP: a.AsSlice()})
	return err
}

func (s *echoSocket) receive() (netip.Addr, string, error) {
	b := make([]byte, 1500)
	n, from, err := s.ReadFromIP(b)
	if err != nil || from == nil || !echoed(b[:n], s.id) {
		return netip.Addr{}, "", err
	}
	a, _ := netip.AddrFromSlice(from.IP)
	return a.Unmap(), from.String(), nil
}

// answered reads until something is the answer, or ctx ends.
func answered(ctx context.Context, c interface{ SetReadDeadline(time.Time) error }, read func([]byte) (int, error), is func([]byte) bool) (bool, error) {
	// What ends the context ends the reading too.
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buf := make([]byte, 1500)
	for {
		n, err := read(buf)
		switch {
		case err == nil && is(buf[:n]):
			return true, nil
		case err != nil && ctx.Err() != nil:
			return false, nil
		case err != nil:
			return false, err
		}
	}
}

// groups are where clients and relays look for DHCPv6 servers (RFC 8415 §7.1).
var groups = []*net.UDPAddr{{IP: net.ParseIP("ff02::1:2")}, {IP: net.ParseIP("ff05::1:3")}}

// ListenDHCPv6 opens a socket that DHCPv6 servers are found by.
func ListenDHCPv6(ctx context.Context, i Interface, port uint16) (*net.UDPConn, error) {
	conn, err := Listen(ctx, "udp6", i, port)
	if err != nil {
		return nil, err
	}
	for _, group := range groups {
		if err := ipv6.NewPacketConn(conn).JoinGroup(&net.Interface{Index: i.Index, Name: i.Name}, group); err != nil {
			return nil, errors.Join(fmt.Errorf("interface %q: %w", i.Name, err), conn.Close())
		}
	}
	return conn, nil
}
