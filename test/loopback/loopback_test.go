package loopback

import (
	"net"
	"net/netip"
	"testing"
)

func TestFree(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		at := Free(t)
		if seen[at] {
			t.Errorf("%s is given twice", at)
		}
		seen[at] = true
		if a := netip.MustParseAddrPort(at); !a.Addr().IsLoopback() || a.Port() >= 32768 {
			t.Errorf("%s is not of loopback, or of the ports from which the kernel chooses", at)
		}
	}
}

// TestTaken: an address at which somebody listens is not given.
func TestTaken(t *testing.T) {
	next := Free(t)
	ip, port := netip.MustParseAddrPort(next).Addr(), netip.MustParseAddrPort(next).Port()
	taken := netip.AddrPortFrom(ip, port+1).String()
	l, err := net.Listen("tcp", taken)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := Free(t); got == taken {
		t.Errorf("%s is given while somebody listens there", got)
	}
}

func TestProcesses(t *testing.T) {
	seen := map[netip.Addr]int{}
	for pid := 1; pid <= 1<<21; pid += 37 {
		ip := ofProcess(pid)
		if other, ok := seen[ip]; ok {
			t.Fatalf("processes %d and %d have one address, %s", other, pid, ip)
		}
		if !ip.IsLoopback() {
			t.Fatal(ip)
		}
		seen[ip] = pid
	}
}
