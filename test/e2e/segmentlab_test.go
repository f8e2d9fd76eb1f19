package e2e

import (
	"net"
	"path/filepath"
	"testing"
)

// newSegmentLab is a lab whose machines are on the segment of this namespace, where the product says what they boot. It serves the discovery image that it
// builds itself, unless the flags name another.
func newSegmentLab(t *testing.T, flags func(*lab) []string) *lab {
	t.Helper()
	return newSegmentLabAt(t, segmentAddress, flags)
}

// newSegmentLabAt is the same at another address of the segment.
func newSegmentLabAt(t *testing.T, address string, flags func(*lab) []string) *lab {
	t.Helper()
	l := prepareLab(t)
	l.url = "http://" + net.JoinHostPort(address, segmentPort)
	l.local = l.url
	l.begin(net.JoinHostPort("::", segmentPort), append(flags(l), "--dhcp-interface=br0", "--boot-url", l.url))
	return l
}

// leases are the flags of a product that is the DHCP server of the segment.
func leases() []string {
	return []string{"--dhcp=server", "--dhcp-range=192.0.2.100-192.0.2.110"}
}

// ownDiscovery are the flags of a product that builds the discovery image of the kernel that these tests use.
func ownDiscovery(t *testing.T) []string {
	t.Helper()
	image, _ := kernel(t)
	return []string{"--discovery-root", filepath.Join(filepath.Dir(image), ".."), "--registry-address", "127.0.0.1:0"}
}
