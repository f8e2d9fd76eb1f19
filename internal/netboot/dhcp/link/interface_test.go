package link

import (
	"bytes"
	"encoding/hex"
	"net"
	"net/netip"
	"testing"
)

// The bytes are written down from RFC 791 and RFC 768; the sums over header and pseudo-header come out as zero, as a receiver checks them.
func TestDatagram(t *testing.T) {
	from, to := netip.MustParseAddrPort("192.0.2.1:67"), netip.MustParseAddrPort("192.0.2.100:68")
	b := datagram(from, to, []byte("abc"))
	if got, want := hex.EncodeToString(b[:10]), "4500001f000000004011"; got != want {
		t.Errorf("header %s, want %s", got, want)
	}
	if got, want := hex.EncodeToString(b[12:26]), "c0000201c000026400430044000b"; got != want {
		t.Errorf("addresses and ports %s, want %s", got, want)
	}
	if got := string(b[28:]); got != "abc" {
		t.Errorf("payload %q", got)
	}
	if c := checksum(0, b[:20]); c != 0 {
		t.Errorf("the header's checksum is off by %x", c)
	}
	if c := checksum(sum(17+11, b[12:20]), b[20:]); c != 0 {
		t.Errorf("the datagram's checksum is off by %x", c)
	}
}

// The bytes are written down from RFC 8200 §3 and RFC 768.
func TestDatagramOfIPv6(t *testing.T) {
	from, to := netip.MustParseAddrPort("[fe80::1]:546"), netip.MustParseAddrPort("[ff02::1:2]:547")
	b := datagram(from, to, []byte("abc"))
	if got, want := hex.EncodeToString(b[:8]), "60000000000b1140"; got != want {
		t.Errorf("header %s, want %s", got, want)
	}
	if got, want := hex.EncodeToString(b[8:46]), "fe800000000000000000000000000001"+"ff020000000000000000000000010002"+"02220223000b"; got != want {
		t.Errorf("addresses and ports %s, want %s", got, want)
	}
	if c := checksum(sum(17+11, b[8:40]), b[40:]); c != 0 {
		t.Errorf("the datagram's checksum is off by %x", c)
	}
	sender, port, payload, ok := received(append(b, 0, 0))
	if !ok || sender != from || port != 547 || string(payload) != "abc" {
		t.Errorf("%v to %d: %q, %v", sender, port, payload, ok)
	}
	for n := range b {
		if _, _, _, ok := received(b[:n]); ok {
			t.Fatalf("%d octets are taken for a datagram", n)
		}
	}
	for name, at := range map[string]int{"a header before it": 6, "UDP that is too long": 45, "longer than the packet": 4} {
		other := bytes.Clone(b)
		if other[at] += 44; func() bool { _, _, _, ok := received(other); return ok }() {
			t.Errorf("%s is taken for a datagram", name)
		}
	}
}

func TestARP(t *testing.T) {
	mac, a := net.HardwareAddr{2, 0, 0, 0, 0, 1}, netip.MustParseAddr("192.0.2.100")
	b := arpProbe(mac, a)
	if got, want := hex.EncodeToString(b), "0001080006040001"+"020000000001"+"00000000"+"000000000000"+"c0000264"; got != want {
		t.Errorf("probe %s, want %s", got, want)
	}
	copy(b[14:18], []byte{192, 0, 2, 100})
	sender, has, ok := arpSender(b)
	if !ok || sender.String() != mac.String() || has != a {
		t.Errorf("%v has %v, %v", sender, has, ok)
	}
	for n := range b {
		if _, _, ok := arpSender(b[:n]); ok {
			t.Fatalf("%d octets are taken for a packet", n)
		}
	}
}

func TestEcho(t *testing.T) {
	b := echo(0x1234)
	if checksum(0, b) != 0 || echoed(b, 0x1234) {
		t.Errorf("%x", b)
	}
	b[0] = echoReply
	if !echoed(b, 0x1234) || echoed(b, 0x1235) || echoed(b[:7], 0x1234) {
		t.Errorf("%x", b)
	}
}

func TestFind(t *testing.T) {
	if _, err := Find("there-is-none"); err == nil {
		t.Error("found an interface that there is not")
	}
	lo, err := Find("lo")
	if err != nil {
		t.Skip("no loopback interface by this name: ", err)
	}
	if a, ok := lo.IPv4(); !ok || a.String() != "127.0.0.1" {
		t.Errorf("IPv4 %v %v", a, ok)
	}
}

func TestReceived(t *testing.T) {
	from, to := netip.MustParseAddrPort("192.0.2.1:67"), netip.MustParseAddrPort("255.255.255.255:68")
	whole := datagram(from, to, []byte("offer"))
	sender, port, payload, ok := received(append(whole, 0, 0, 0)) // an Ethernet pads what is short
	if !ok || sender != from || port != 68 || string(payload) != "offer" {
		t.Errorf("%v to %d: %q, %v", sender, port, payload, ok)
	}
	for n := range whole {
		if _, _, _, ok := received(whole[:n]); ok {
			t.Fatalf("%d octets are taken for a datagram", n)
		}
	}
	for name, change := range map[string]func(b []byte){
		"TCP": func(b []byte) { b[9] = 6 }, "a first fragment": func(b []byte) { b[6] = 0x20 }, "a later fragment": func(b []byte) { b[7] = 1 },
		"IPv6": func(b []byte) { b[0] = 0x65 }, "a header that is too short": func(b []byte) { b[0] = 0x44 }, "a header that is too long": func(b []byte) { b[0] = 0x4f },
		"UDP that is too long": func(b []byte) { b[25] = 200 }, "UDP that is too short": func(b []byte) { b[25] = 7 },
	} {
		b := bytes.Clone(whole)
		if change(b); func() bool { _, _, _, ok := received(b); return ok }() {
			t.Errorf("%s is taken for a datagram", name)
		}
	}
	b := append(append(bytes.Clone(whole[:20]), 1, 1, 1, 1), whole[20:]...) // with an option of IP
	b[0], b[3] = 0x46, b[3]+4
	if _, _, payload, ok := received(b); !ok || string(payload) != "offer" {
		t.Errorf("behind an option: %q, %v", payload, ok)
	}
}

func FuzzReceived(f *testing.F) {
	f.Add(datagram(netip.MustParseAddrPort("192.0.2.1:67"), netip.MustParseAddrPort("255.255.255.255:68"), []byte("offer")))
	f.Add(datagram(netip.MustParseAddrPort("[fe80::1]:547"), netip.MustParseAddrPort("[fe80::2]:546"), []byte("advertise")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, payload, ok := received(b); ok && len(payload) > len(b)-ipHeader-udpHeader {
			t.Errorf("%d octets in a packet of %d", len(payload), len(b))
		}
	})
}
