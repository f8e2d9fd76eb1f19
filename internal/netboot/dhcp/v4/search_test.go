package v4

import (
	"bytes"
	"net"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

// What another server of ours answers, and what is no answer.
func TestASearchFindsAServer(t *testing.T) {
	s, id, sender := NewSearch(ourCard), [4]byte{1, 2, 3, 4}, netip.MustParseAddr("192.0.2.7")
	l := newLab(t, true)
	l.view.boot.Standing = dhcp.Unknown
	from, _ := s.Ends()
	q, err := l.Read(s.Question(id), from, ServerPort)
	if err != nil {
		t.Fatal(err)
	}
	r := l.Handle(q)
	if r.Reply == nil || r.To.Way != Broadcast {
		t.Fatalf("answered %+v", r)
	}
	if a, ok := s.Server(r.Reply.ToBytes(), sender, id); !ok || a != server {
		t.Errorf("found %v, %v", a, ok)
	}
	for name, c := range map[string]struct {
		change func(*dhcpv4.DHCPv4)
		want   netip.Addr
	}{
		"without an identifier":     {func(p *dhcpv4.DHCPv4) { delete(p.Options, optServerID) }, sender},
		"to another question":       {func(p *dhcpv4.DHCPv4) { p.TransactionID[0]++ }, netip.Addr{}},
		"to another client":         {func(p *dhcpv4.DHCPv4) { p.ClientHWAddr = ourCard }, netip.Addr{}},
		"a question of its own":     {func(p *dhcpv4.DHCPv4) { p.OpCode = dhcpv4.OpcodeBootRequest }, netip.Addr{}},
		"not an offer":              {func(p *dhcpv4.DHCPv4) { p.Options[optMessageType] = []byte{byte(dhcpv4.MessageTypeNak)} }, netip.Addr{}},
		"what to boot and no lease": {func(p *dhcpv4.DHCPv4) { p.YourIPAddr = net.IPv4zero }, netip.Addr{}},
	} {
		p, err := dhcpv4.FromBytes(r.Reply.ToBytes())
		if err != nil {
			t.Fatal(err)
		}
		c.change(p)
		if a, ok := s.Server(p.ToBytes(), sender, id); a != c.want || ok != c.want.IsValid() {
			t.Errorf("%s: found %v, %v", name, a, ok)
		}
	}
	if _, ok := s.Server([]byte("no DHCP"), sender, id); ok {
		t.Error("garbage is an answer")
	}
}

// Two interfaces may be on one segment: we hear our own search there, and are no other server.
func TestOurOwnSearchGetsNoLease(t *testing.T) {
	pool := newTestPool(t, newClock())
	s := serve(t, pool, ServerPort, dhcp.Unknown)
	conn := dial(t, s)
	free, _ := pool.Free()
	for _, b := range [][]byte{NewSearch(ourCard).Question([4]byte{1}), clients["operating-system"].bytes()} {
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if e := <-s.events; e.Client.MAC != "52:54:00:12:34:56" {
		t.Errorf("answered %+v", e)
	}
	if b := <-s.sent; !bytes.Equal(b[28:34], []byte{0x52, 0x54, 0, 0x12, 0x34, 0x56}) || len(s.sent) > 0 {
		t.Errorf("sent to %x", b[28:34])
	}
	if now, _ := pool.Free(); now != free-1 {
		t.Errorf("%d addresses are free of %d", now, free)
	}
}

func FuzzSearch(f *testing.F) {
	s, id := NewSearch(ourCard), [4]byte{1, 2, 3, 4}
	f.Add(s.Question(id))
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, ok := s.Server(b, netip.Addr{}, id); ok != a.IsValid() {
			t.Errorf("found %v, %v", a, ok)
		}
	})
}
