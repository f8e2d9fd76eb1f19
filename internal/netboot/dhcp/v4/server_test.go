package v4

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
)

// counter stands for the boot server, and counts.
type counter struct {
	boot   dhcp.Boot
	events chan dhcp.Event
}

func (c *counter) Boot(dhcp.Client) dhcp.Boot { return c.boot }
func (c *counter) Answered(e dhcp.Event)      { c.events <- e }

// segment stands for what is below UDP.
type segment struct {
	mu    sync.Mutex
	taken map[netip.Addr]bool
	sent  chan []byte
}

func (s *segment) Send(_, _ netip.AddrPort, _ net.HardwareAddr, b []byte) error {
	s.sent <- b
	return nil
}

func (s *segment) take(a netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[a] = true
}

func (s *segment) InUse(_ context.Context, a netip.Addr, _ net.HardwareAddr) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[a], nil
}

// ourCard is that of the interface which packets come to.
var ourCard = net.HardwareAddr{0x52, 0x54, 0, 0xff, 0xff, 0xff}

type served struct {
	*counter
	*segment
	dropped chan dhcp.Reason
	addr    *net.UDPAddr
}

func serve(t testing.TB, pool *lease.Pool, port uint16, standing dhcp.Standing) *served {
	t.Helper()
	s := &served{
		counter: &counter{boot: dhcp.Boot{Standing: standing, FileURL: fileURL, ScriptURL: scriptURL}, events: make(chan dhcp.Event, 1<<16)},
		segment: &segment{taken: map[netip.Addr]bool{}, sent: make(chan []byte, 1<<16)}, dropped: make(chan dhcp.Reason, 1<<16),
	}
	handler := NewHandler(Config{Boots: s, Policy: dhcp.Policy{Program: testPrograms}, Pool: pool, Server: server})
	srv := NewServer(ServerConfig{
		Handler: handler, Segment: s, Searches: dhcp.Searches{dhcp.SearchMAC(ourCard).String()}, Limiter: dhcp.NewLimiter(clock.RealClock{}), Dropped: func(r dhcp.Reason) { s.dropped <- r }, Logger: logr.Discard(), Clock: clock.RealClock{},
	})
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	addr, ok := conn.LocalAddr().(*net.UDPAddr)
	if !ok {
		t.Fatal(conn.LocalAddr())
	}
	s.addr = addr
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, conn, port) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func dial(t testing.TB, s *served) *net.UDPConn {
	t.Helper()
	conn, err := net.DialUDP("udp4", nil, s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// Port 4011 answers to where the request came from, over a real socket.
func TestServePort4011(t *testing.T) {
	s := serve(t, nil, ProxyPort, dhcp.Known)
	conn := dial(t, s)
	if _, err := conn.Write(clients["ovmf-pxe"].with(option{53, requestType}).bytes()); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, limits.Packet)
	n, err := conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(b[108:119]); got != "snponly.efi" || n < 300 {
		t.Errorf("file %q in %d octets", got, n)
	}
	if e := <-s.events; e.Step != "ack" || e.Answer.Kind != dhcp.Program {
		t.Errorf("recorded %+v", e)
	}
}

func TestGarbageIsDropped(t *testing.T) {
	s := serve(t, nil, ProxyPort, dhcp.Known)
	conn := dial(t, s)
	if _, err := conn.Write([]byte("no DHCP")); err != nil {
		t.Fatal(err)
	}
	if why := <-s.dropped; why != dhcp.ReasonMalformed {
		t.Errorf("dropped as %s", why)
	}
}

// A host without a lease keeps its address.
func TestAnAddressInUseIsNotOffered(t *testing.T) {
	s := serve(t, newTestPool(t, newClock()), ServerPort, dhcp.Known)
	s.take(netip.MustParseAddr("198.51.100.100"))
	a := clients["operating-system"]
	a = a.with(option{82, "\x05\x04\xc6\x33\x64\x00"}) // the relay's own address is that of nobody who listens
	a.giaddr = [4]byte{127, 0, 0, 1}
	conn := dial(t, s)
	if _, err := conn.Write(a.bytes()); err != nil {
		t.Fatal(err)
	}
	if why := <-s.dropped; why != dhcp.ReasonMalformed {
		t.Fatalf("a relay at 127.0.0.1: %s", why)
	}
	a = clients["operating-system"]
	s.take(netip.MustParseAddr("192.0.2.100"))
	if _, err := conn.Write(a.bytes()); err != nil {
		t.Fatal(err)
	}
	b := <-s.sent
	if got := netip.AddrFrom4([4]byte(b[16:20])); got.String() != "192.0.2.101" {
		t.Errorf("offered %s", got)
	}
}

func TestOneLoudClientIsLimited(t *testing.T) {
	s := serve(t, nil, ProxyPort, dhcp.Known)
	conn := dial(t, s)
	packet := clients["ovmf-pxe"].bytes()
	for range 100 {
		if _, err := conn.Write(packet); err != nil {
			t.Fatal(err)
		}
	}
	limited := 0
	for range 60 {
		if why := <-s.dropped; why == dhcp.ReasonLimited {
			limited++
		}
	}
	if limited != 60 {
		t.Errorf("%d limited", limited)
	}
}

// discoverOf is a packet of one of many machines.
func discoverOf(b []byte, n int) []byte {
	binary.BigEndian.PutUint32(b[4:], uint32(n))
	binary.BigEndian.PutUint32(b[30:], uint32(n))
	return b
}

// BenchmarkDiscover is what a DISCOVER costs, over a socket and through the pool: each is of another machine, and answered.
func BenchmarkDiscover(b *testing.B) {
	s := serve(b, nil, ProxyPort, dhcp.Known)
	conn := dial(b, s)
	packet, answer := clients["ovmf-pxe"].bytes(), make([]byte, limits.Packet)
	n := 0
	for b.Loop() {
		n++
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Write(discoverOf(packet, n)); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Read(answer); err != nil {
			b.Fatal(err)
		}
		<-s.events
	}
}
