//go:build linux

package pid1

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
	"golang.org/x/sys/unix"
)

// server6 is a socket at whose other end is a DHCPv6 server.
type server6 struct {
	answer func(*dhcpv6.Message) []*dhcpv6.Message

	mu     sync.Mutex
	asked  []*dhcpv6.Message
	queue  chan []byte
	closed chan struct{}
}

func newServer6(answer func(*dhcpv6.Message) []*dhcpv6.Message) *server6 {
	return &server6{answer: answer, queue: make(chan []byte, 10), closed: make(chan struct{})}
}

func (s *server6) WriteTo(b []byte, _ net.Addr) (int, error) {
	m, err := dhcpv6.MessageFromBytes(b)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	s.asked = append(s.asked, m)
	s.mu.Unlock()
	for _, a := range s.answer(m) {
		s.queue <- a.ToBytes()
	}
	return len(b), nil
}

func (s *server6) ReadFrom(b []byte) (int, net.Addr, error) {
	select {
	case packet := <-s.queue:
		return copy(b, packet), &net.UDPAddr{}, nil
	case <-s.closed:
		return 0, nil, net.ErrClosed
	}
}

func (s *server6) Close() error                   { close(s.closed); return nil }
func (*server6) LocalAddr() net.Addr              { return &net.UDPAddr{} }
func (*server6) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (*server6) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (*server6) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

var (
	machine6 = net.HardwareAddr{0x52, 0x54, 0, 0x12, 0x34, 0x56}
	ours6    = &dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: net.HardwareAddr{2, 0, 0, 0, 0, 1}}
)

// reply6 answers a message with these options, from our server.
func reply6(t *testing.T, kind dhcpv6.MessageType, m *dhcpv6.Message, options ...dhcpv6.Option) *dhcpv6.Message {
	t.Helper()
	a := &dhcpv6.Message{MessageType: kind, TransactionID: m.TransactionID}
	a.AddOption(m.GetOneOption(dhcpv6.OptionClientID))
	a.AddOption(dhcpv6.OptServerID(ours6))
	for _, o := range options {
		a.AddOption(o)
	}
	return a
}

// ia6 is an association with an address.
func ia6(address string, valid time.Duration) *dhcpv6.OptIANA {
	return &dhcpv6.OptIANA{T1: valid / 2, T2: valid / 5 * 4, Options: dhcpv6.IdentityOptions{Options: dhcpv6.Options{
		&dhcpv6.OptIAAddress{IPv6Addr: net.ParseIP(address), PreferredLifetime: valid, ValidLifetime: valid},
	}}}
}

func open6(t *testing.T, s *server6) *dhcp6 {
	t.Helper()
	d, err := newDHCP6(s, machine6)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// A machine gets the address of the server that leases some, though another answers first, and keeps it.
func TestLease6(t *testing.T) {
	s := newServer6(func(m *dhcpv6.Message) []*dhcpv6.Message {
		switch m.MessageType {
		case dhcpv6.MessageTypeSolicit:
			boots := reply6(t, dhcpv6.MessageTypeAdvertise, m, dhcpv6.OptBootFileURL("http://boot/ipxe"))
			full := reply6(t, dhcpv6.MessageTypeAdvertise, m, &dhcpv6.OptIANA{Options: dhcpv6.IdentityOptions{Options: dhcpv6.Options{
				&dhcpv6.OptStatusCode{StatusCode: iana.StatusNoAddrsAvail},
			}}})
			return []*dhcpv6.Message{boots, full, reply6(t, dhcpv6.MessageTypeAdvertise, m, ia6("2001:db8::9", time.Hour))}
		case dhcpv6.MessageTypeRequest:
			return []*dhcpv6.Message{reply6(t, dhcpv6.MessageTypeReply, m, ia6("2001:db8::9", time.Hour), dhcpv6.OptDNS(net.ParseIP("2001:db8::53")))}
		case dhcpv6.MessageTypeRenew:
			return []*dhcpv6.Message{reply6(t, dhcpv6.MessageTypeReply, m, &dhcpv6.OptIANA{Options: dhcpv6.IdentityOptions{Options: dhcpv6.Options{
				&dhcpv6.OptStatusCode{StatusCode: iana.StatusNoBinding},
			}}})}
		case dhcpv6.MessageTypeRebind:
			return []*dhcpv6.Message{reply6(t, dhcpv6.MessageTypeReply, m, ia6("2001:db8::9", 2*time.Hour))}
		}
		return []*dhcpv6.Message{reply6(t, dhcpv6.MessageTypeReply, m)}
	})
	d := open6(t, s)
	l, err := d.get(t.Context(), stepSolicit, nil)
	if err != nil {
		t.Fatal(err)
	}
	if l.addr != netip.MustParseAddr("2001:db8::9") || l.valid != time.Hour || l.renew != 30*time.Minute || l.rebind != 48*time.Minute || len(l.servers) != 1 {
		t.Errorf("%+v", l)
	}
	if _, err := d.get(t.Context(), stepRenew, l); err == nil || !strings.Contains(err.Error(), "NoBinding") {
		t.Errorf("a renewal that was refused: %v", err)
	}
	longer, err := d.get(t.Context(), stepRebind, l)
	if err != nil || longer.valid != 2*time.Hour {
		t.Errorf("%+v, %v", longer, err)
	}
	d.decline(t.Context(), l)

	var kinds []string
	for _, m := range s.asked {
		kinds = append(kinds, m.MessageType.String())
		if id, ok := m.Options.ClientID().(*dhcpv6.DUIDLL); !ok || id.LinkLayerAddr.String() != machine6.String() {
			t.Errorf("%s: the machine calls itself %s", m.MessageType, m.Options.ClientID())
		}
		names := m.MessageType != dhcpv6.MessageTypeSolicit && m.MessageType != dhcpv6.MessageTypeRebind
		if (m.Options.ServerID() != nil) != names {
			t.Errorf("%s: names the server %v", m.MessageType, m.Options.ServerID())
		}
	}
	if diff := cmp.Diff([]string{"SOLICIT", "REQUEST", "RENEW", "REBIND", "DECLINE"}, kinds); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestReadLease6(t *testing.T) {
	m := func(options ...dhcpv6.Option) *dhcpv6.Message {
		a, err := dhcpv6.NewMessage(dhcpv6.WithServerID(ours6))
		if err != nil {
			t.Fatal(err)
		}
		a.MessageType = dhcpv6.MessageTypeReply
		for _, o := range options {
			a.AddOption(o)
		}
		return a
	}
	left := ia6("2001:db8::9", 1000*time.Second)
	left.T1, left.T2 = 0, 0
	l, err := readLease6(m(left, dhcpv6.OptBootFileURL("tftp://[2001:db8::1]/snponly.efi")))
	if err != nil || l.renew != 500*time.Second || l.rebind != 800*time.Second || l.boot != "" {
		t.Errorf("times left to the client: %+v, %v", l, err)
	}
	short, err := readLease6(m(ia6("2001:db8::9", 10*time.Second)))
	if err != nil || short.renew != 10*time.Second || short.rebind != 10*time.Second {
		t.Errorf("a short lease: %+v, %v", short, err)
	}
	for name, bad := range map[string]*dhcpv6.Message{
		"no association":       m(),
		"an empty association": m(&dhcpv6.OptIANA{}),
		"an address that ends": m(ia6("2001:db8::9", 0)),
		"a link-local address": m(ia6("fe80::1", time.Hour)),
		"a refusal":            m(&dhcpv6.OptStatusCode{StatusCode: iana.StatusUnspecFail}, ia6("2001:db8::9", time.Hour)),
		"no server":            {MessageType: dhcpv6.MessageTypeReply, Options: dhcpv6.MessageOptions{Options: dhcpv6.Options{ia6("2001:db8::9", time.Hour)}}},
	} {
		if l, err := readLease6(bad); err == nil {
			t.Errorf("%s was taken: %+v", name, l)
		}
	}
}

// A server says what to boot to who asks as the firmware does.
func TestBootFrom6(t *testing.T) {
	const url = "http://[2001:db8::1]:8082/httpboot/r/os/sha256-01.efi"
	s := newServer6(func(m *dhcpv6.Message) []*dhcpv6.Message {
		silent := reply6(t, dhcpv6.MessageTypeReply, m)
		class := m.Options.VendorClass(enterpriseUEFI)
		if m.MessageType != dhcpv6.MessageTypeInformationRequest || len(class) != 1 || !strings.HasPrefix(string(class[0]), "HTTPClient:Arch:000") || m.Options.OneIANA() != nil {
			t.Errorf("asked %s", m.Summary())
		}
		return []*dhcpv6.Message{silent, reply6(t, dhcpv6.MessageTypeReply, m, dhcpv6.OptBootFileURL(url))}
	})
	if got := open6(t, s).bootFrom(t.Context()); got != url {
		t.Errorf("boots from %q", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	nobody := newServer6(func(*dhcpv6.Message) []*dhcpv6.Message { return nil })
	if got := open6(t, nobody).bootFrom(ended); got != "" {
		t.Errorf("boots from %q", got)
	}
}

func TestInet6Flags(t *testing.T) {
	attribute := func(kind uint16, value []byte) []byte {
		b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
		b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
		return append(b, make([]byte, -len(b)&3)...)
	}
	message := func(index uint32, attributes ...[]byte) []byte {
		head := make([]byte, unix.SizeofIfInfomsg)
		binary.NativeEndian.PutUint32(head[4:], index)
		return slices.Concat(head, slices.Concat(attributes...))
	}
	flags := attribute(unix.IFLA_INET6_FLAGS, binary.NativeEndian.AppendUint32(nil, 0x80000000|routerManaged))
	name := attribute(unix.IFLA_IFNAME, []byte("eth0\x00"))
	for what, c := range map[string]struct {
		message []byte
		want    uint32
		ok      bool
	}{
		"a router has said it": {message(2, name, attribute(unix.IFLA_PROTINFO|unix.NLA_F_NESTED, flags)), 0x80000000 | routerManaged, true},
		"no flags":             {message(2, name, attribute(unix.IFLA_PROTINFO, nil)), 0, false},
		"another link":         {message(3, attribute(unix.IFLA_PROTINFO, flags)), 0, false},
		"cut off":              {[]byte{1, 2}, 0, false},
		"nonsense":             {message(2, []byte{1, 0, 1, 0}), 0, false},
	} {
		if got, ok := inet6Flags(c.message, 2); got != c.want || ok != c.ok {
			t.Errorf("%s: %#x, %v", what, got, ok)
		}
	}
}

// Boot servers of IPv4 come first, and each family is in the order of its links.
func TestOfferedOrder(t *testing.T) {
	n := newNetwork(logr.Discard(), true)
	n.offers = map[source]string{{2, 6}: "d", {1, 6}: "c", {3, 4}: "b", {2, 4}: "a"}
	if got := strings.Join(n.offered(), ""); got != "abcd" {
		t.Errorf("offered %q", got)
	}
}
