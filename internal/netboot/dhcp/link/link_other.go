//go:build !linux

package link

import (
	"context"
	"net"
	"net/netip"
)

// Listen is for Linux alone.
func Listen(context.Context, string, Interface, uint16) (*net.UDPConn, error) {
	return nil, ErrUnsupported
}

// Raw is for Linux alone.
type Raw struct{}

// OpenRaw is for Linux alone.
func OpenRaw(Interface) *Raw { return &Raw{} }

// Send is for Linux alone.
func (*Raw) Send(_, _ netip.AddrPort, _ net.HardwareAddr, _ []byte) error { return ErrUnsupported }

// InUse is for Linux alone.
func (*Raw) InUse(context.Context, netip.Addr, net.HardwareAddr) (bool, error) {
	return false, ErrUnsupported
}

// Broadcast is for Linux alone.
func (*Raw) Broadcast(context.Context, netip.AddrPort, netip.AddrPort, []byte, func(netip.AddrPort, []byte)) error {
	return ErrUnsupported
}

// Close closes nothing.
func (*Raw) Close() error { return nil }

// ListenDHCPv6 is for Linux alone.
func ListenDHCPv6(context.Context, Interface, uint16) (*net.UDPConn, error) {
	return nil, ErrUnsupported
}
