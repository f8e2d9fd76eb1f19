package loopback

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
)

const (
	// first is the lowest port that is given, and count how many there are.
	first, count = 20000, 12000
)

var given atomic.Uint32

// Free returns an address of loopback (127.0.0.0/8) that nobody listens at, and that nobody else is given.
func Free(t testing.TB) string {
	t.Helper()
	at, err := Choose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Choose is Free for what is no test.
func Choose(ctx context.Context) (string, error) { return choose(ctx, ofProcess(os.Getpid())) }

// Port returns a port at which nobody listens at any address of this host. Processes differ in the ports that they are given first; it is not
// impossible that two are given the same one.
func Port(t testing.TB) string {
	t.Helper()
	at, err := choose(t.Context(), netip.IPv6Unspecified())
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func choose(ctx context.Context, ip netip.Addr) (string, error) {
	var err error
	for range count {
		n := uint32(os.Getpid())*61 + given.Add(1)
		at := netip.AddrPortFrom(ip, uint16(first+n%count)).String()
		var l net.Listener
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", at); err == nil {
			_ = l.Close()
			return at, nil
		}
	}
	return "", fmt.Errorf("no port of %s is free: %w", ip, err)
}

// ofProcess returns the IP address of a process: one of 127.96.0.0/11 for each of two million process IDs.
func ofProcess(pid int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 96 + byte(pid>>16)&31, byte(pid >> 8), byte(pid)})
}
