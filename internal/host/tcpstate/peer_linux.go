package tcpstate

import (
	"crypto/tls"
	"net"
	"syscall"
)

// tcpEstablished is TCP_ESTABLISHED of Linux: neither side has closed.
const tcpEstablished = 1

// ClosedByPeer reports whether the other end has closed a connection of which the
// server may not know it yet.
func ClosedByPeer(conn net.Conn) bool {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true // closed by us
	}
	state := byte(tcpEstablished)
	err = raw.Control(func(fd uintptr) {
		// struct tcp_info begins with the state, a byte (tcp(7)).
		if info, err := syscall.GetsockoptInet4Addr(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO); err == nil {
			state = info[0]
		}
	})
	return err != nil || state != tcpEstablished
}
