//go:build !linux

package udp

import "net"

func setReadBuffer(conn *net.UDPConn, bytes int) { _ = conn.SetReadBuffer(bytes) }
