package udp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// Limits are what is kept of packets.
type Limits struct {
	// Packet is the most that is read of one; the rest of it is lost.
	Packet int
	// Waiting is how many bytes may wait to be read. Without CAP_NET_ADMIN the kernel's own limit counts (net.core.rmem_max), if that is lower; whoever gets no answer asks
	// again.
	Waiting int
	// Queue is how many of those that ServeSorted accepts may wait.
	Queue int
}

// ServeSorted is Serve in two steps, so that what takes long does not keep packets waiting in the kernel, which drops them without a choice. accept looks at each
// packet at once and says whether it counts. Those that count wait in a queue, and take handles one after the other; refused is told of those for which the queue has
// no room.
func ServeSorted[T any](ctx context.Context, name string, conn *net.UDPConn, limits Limits, accept func(packet []byte, from netip.AddrPort) (T, bool), take, refused func(T)) error {
	queue, done := make(chan T, limits.Queue), make(chan struct{})
	go func() {
		defer close(done)
		for t := range queue {
			if ctx.Err() == nil {
				take(t)
			}
		}
	}()
	defer func() {
		close(queue)
		<-done
	}()
	return Serve(ctx, name, conn, limits, func(packet []byte, from netip.AddrPort) {
		t, counts := accept(packet, from)
		if !counts {
			return
		}
		select {
		case queue <- t:
		default:
			refused(t)
		}
	})
}

// Serve hands out each packet that comes to a socket, one at a time, until ctx ends, and closes the socket. A packet is good until take returns. The
// error has the name of the server; it is nil when ctx ended it.
func Serve(ctx context.Context, name string, conn *net.UDPConn, limits Limits, take func(packet []byte, from netip.AddrPort)) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	setReadBuffer(conn, limits.Waiting)
	buf := make([]byte, limits.Packet)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("%s: %w", name, err)
		case err != nil:
			continue // an ICMP error about something that was sent
		}
		take(buf[:n], from)
	}
}
