package udp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/test/await"
)

// TestServe: packets come with who sent them, up to their limit, until the context ends.
func TestServe(t *testing.T) {
	conn, got, ended := listen(t), make(chan string, 1), make(chan error, 1)
	client := dial(t, conn)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- Serve(ctx, "echo", conn, Limits{Packet: 4, Waiting: 1 << 10}, func(packet []byte, from netip.AddrPort) {
			got <- from.String() + " " + string(packet)
		})
	}()
	for sent, want := range map[string]string{"abc": "abc", "": "", "abcdef": "abcd"} {
		if _, err := client.Write([]byte(sent)); err != nil {
			t.Fatal(err)
		}
		if packet := await.Receive(t, "a packet", got); packet != client.LocalAddr().String()+" "+want {
			t.Errorf("%q came as %q", sent, packet)
		}
	}
	cancel()
	if err := await.Receive(t, "the end", ended); err != nil {
		t.Error(err)
	}
	if err := conn.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the socket was left open: %v", err)
	}
}

// TestServeSorted: while one packet is being handled, all others are looked at, and as many wait as there is room for.
func TestServeSorted(t *testing.T) {
	conn := listen(t)
	client := dial(t, conn)
	ctx, cancel := context.WithCancel(t.Context())
	looked, handled, refused, ended := make(chan string, 10), make(chan string), make(chan string, 10), make(chan error, 1)
	go func() {
		ended <- ServeSorted(ctx, "echo", conn, Limits{Packet: 10, Waiting: 1 << 10, Queue: 2}, func(packet []byte, _ netip.AddrPort) (string, bool) {
			looked <- string(packet)
			return string(packet), string(packet) != "no"
		}, func(s string) {
			select {
			case handled <- s:
			case <-ctx.Done():
			}
		}, func(s string) { refused <- s })
	}()
	send := func(packet string) {
		t.Helper()
		if _, err := client.Write([]byte(packet)); err != nil {
			t.Fatal(err)
		}
		if got := await.Receive(t, "a look", looked); got != packet {
			t.Errorf("looked at %q, not at %q", got, packet)
		}
	}
	for _, packet := range []string{"no", "1", "2", "3", "4", "5"} {
		send(packet)
	}
	// One may have been taken out of the queue already, where it waits to be handled.
	first := await.Receive(t, "one that there is no room for", refused)
	want := map[string][]string{"4": {"1", "2", "3"}, "3": {"1", "2"}}[first]
	for _, packet := range want {
		if got := await.Receive(t, "a packet", handled); got != packet {
			t.Errorf("handled %q, not %q", got, packet)
		}
	}
	cancel()
	if err := await.Receive(t, "the end", ended); err != nil || len(want) == 0 {
		t.Errorf("%q was refused first; %v", first, err)
	}
}

func TestServeWithoutItsSocket(t *testing.T) {
	conn := listen(t)
	_ = conn.Close()
	err := Serve(t.Context(), "echo", conn, Limits{Packet: 4, Waiting: 1 << 10}, nil)
	if !errors.Is(err, net.ErrClosed) || !strings.HasPrefix(err.Error(), "echo: ") {
		t.Errorf("error %v", err)
	}
}

func listen(t *testing.T) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func dial(t *testing.T, to net.PacketConn) net.Conn {
	t.Helper()
	client, err := new(net.Dialer).DialContext(t.Context(), "udp", to.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
