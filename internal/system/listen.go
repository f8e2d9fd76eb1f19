package system

import (
	"errors"
	"fmt"
	"net"
)

// listen opens a listener now, and tells under which URL it is reached. With leader election it is opened
// later: two processes of one host take turns at an address, and what is not served yet must not
// accept connections.
func (s *System) listen(flag, address string, secure bool) (net.Listener, string, error) {
	if !s.settings.LeaderElection {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return nil, "", fmt.Errorf("--%s: %w", flag, err)
		}
		return listener, deriveURL(listener.Addr(), s.settings.Loopback, secure), nil
	}
	at, err := net.ResolveTCPAddr("tcp", address)
	if err == nil && at.Port == 0 {
		err = errors.New("port 0 cannot be known before it is this process's turn")
	}
	if err != nil {
		return nil, "", fmt.Errorf("--%s: %w", flag, err)
	}
	return nil, deriveURL(at, s.settings.Loopback, secure), nil
}

// opened is the listener that listen opened, or one that is opened now.
func opened(listener net.Listener, flag, address string) (net.Listener, error) {
	if listener != nil {
		return listener, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return listener, nil
}

// deriveURL is the URL of a server that listens at address: the address itself, or, if that is
// all of them, loopback for a simulated rack and else the first address that machines can reach.
func deriveURL(address net.Addr, simulated, secure bool) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return ""
	}
	ip := tcp.IP
	if ip == nil || ip.IsUnspecified() { // ":8082" has none
		ip = net.IPv4(127, 0, 0, 1)
		if !simulated {
			if found := routableAddress(); found != nil {
				ip = found
			}
		}
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(ip.String(), fmt.Sprint(tcp.Port))
}

func routableAddress() net.IP {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP
		}
	}
	return nil
}
