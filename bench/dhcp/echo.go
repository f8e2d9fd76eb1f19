package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/program"
)

const (
	roleEcho = "bare server"
	echoPort = 6767
)

// serveEcho is the bare server: it decodes each packet and encodes an answer to it, and does nothing else.
func serveEcho(context.Context) error {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(serverAddress), Port: echoPort})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetReadBuffer(receiveBuffer); err != nil { // as the product's
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- echo(conn) }()
	return child.Serve(func(struct{}) (program.Usage, error) {
		select {
		case err := <-failed:
			return program.Usage{}, err
		default:
			return program.UsageOf(os.Getpid())
		}
	})
}

func echo(conn *net.UDPConn) error {
	buf := make([]byte, 4<<10)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return err
		}
		asked, err := dhcpv4.FromBytes(buf[:n])
		if err != nil {
			return fmt.Errorf("decode: %w", err)
		}
		answer, err := dhcpv4.NewReplyFromRequest(asked, dhcpv4.WithMessageType(dhcpv4.MessageTypeOffer), dhcpv4.WithServerIP(net.ParseIP(serverAddress)))
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		if _, err := conn.WriteToUDPAddrPort(answer.ToBytes(), from); err != nil {
			return err
		}
	}
}
