package v4

import (
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// After which answers a client has the address that the event says.
func TestWhoHasAnAddress(t *testing.T) {
	who := clients["operating-system"]
	ours, offered := option{54, "\xc0\x00\x02\x01"}, option{50, "\xc0\x00\x02\x64"}
	kind := func(k dhcpv4.MessageType) option { return option{53, string([]byte{byte(k)})} }
	at := func(a asked) asked { a.ciaddr = [4]byte{192, 0, 2, 100}; return a }
	for _, c := range []struct {
		name string
		asks asked
		has  bool
	}{
		{"discover", who, false},
		{"request", who.with(kind(dhcpv4.MessageTypeRequest), ours, offered), true},
		{"renewal", at(who.with(kind(dhcpv4.MessageTypeRequest))), true},
		{"request for another network", who.with(kind(dhcpv4.MessageTypeRequest), option{50, "\x0a\x00\x00\x01"}), false},
		{"request of another server", who.with(kind(dhcpv4.MessageTypeRequest), option{54, "\xc0\x00\x02\x09"}, offered), false},
		{"inform", at(who.with(kind(dhcpv4.MessageTypeInform))), false},
		{"release", at(who.with(kind(dhcpv4.MessageTypeRelease), ours)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, true)
			l.handle(t, who, nobody, ServerPort)
			if c.name != "request" {
				l.handle(t, who.with(kind(dhcpv4.MessageTypeRequest), ours, offered), nobody, ServerPort)
			}
			e := l.handle(t, c.asks, nobody, ServerPort).Event
			if e.Leased() != c.has || c.has && e.Addr.String() != "192.0.2.100" {
				t.Errorf("it is said of %s that the client has it: %v", e.Addr, e.Leased())
			}
		})
	}
}
