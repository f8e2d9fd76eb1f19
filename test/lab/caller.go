package lab

import (
	"net"
	"net/http"
	"net/netip"
	"time"
)

// CallerAt is an HTTP client whose connections come from an address of this host: on Linux any of 127.0.0.0/8.
func CallerAt(address netip.Addr) *http.Client {
	dialer := &net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, 0))}
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: dialer.DialContext}}
}
