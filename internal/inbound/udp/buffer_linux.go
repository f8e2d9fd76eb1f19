package udp

import (
	"errors"
	"net"
	"syscall"
)

// setReadBuffer gives a socket room for what waits, beyond the kernel's limit where that is allowed (socket(7), SO_RCVBUFFORCE).
func setReadBuffer(conn *net.UDPConn, bytes int) {
	raw, err := conn.SyscallConn()
	if err == nil {
		controlled := raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUFFORCE, bytes)
		})
		err = errors.Join(err, controlled)
	}
	if err != nil {
		_ = conn.SetReadBuffer(bytes)
	}
}
