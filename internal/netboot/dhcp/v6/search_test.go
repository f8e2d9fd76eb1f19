package v6

import (
	"bytes"
	"net"
	"net/netip"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

// ourCard is that of the interface which a search is on.
var ourCard = net.HardwareAddr{0x52, 0x54, 0, 0xff, 0xff, 0xff}

var searcher = netip.MustParseAddr("fe80::5054:ff:feff:ffff%eth0")

// What another server of ours answers, and what is no answer.
func TestASearchFindsAServer(t *testing.T) {
	s, id, sender := NewSearch(ourCard, searcher), [4]byte{1, 2, 3, 4}, netip.MustParseAddr("fe80::7%eth0")
	from, to := s.Ends()
	if from.String() != "[fe80::5054:ff:feff:ffff]:546" || to.String() != "[ff02::1:2]:547" {
		t.Errorf("asks from %s to %s", from, to)
	}
	h, v := newLab(t, true)
	v.boot.Standing = dhcp.Unknown
	q, err := h.Read(s.Question(id), from)
	if err != nil {
		t.Fatal(err)
	}
	if mac := q.Client().MAC; mac != dhcp.SearchMAC(ourCard).String() {
		t.Errorf("the client is %q", mac)
	}
	offered := h.Handle(q).Reply
	if a, ok := s.Server(offered, sender, id); !ok || a != netip.MustParseAddr("fe80::7") {
		t.Errorf("found %v, %v", a, ok)
	}
	without := func(code byte) []byte { // an option is of another kind
		return bytes.Replace(offered, []byte{0, code, 0}, []byte{0xee, code, 0}, 1)
	}
	changed := func(at int) []byte {
		b := bytes.Clone(offered)
		b[at]++
		return b
	}
	proxy, _ := newLab(t, false)
	for name, answer := range map[string][]byte{
		"to another question":       changed(3),
		"to another client":         bytes.Replace(offered, dhcp.SearchMAC(ourCard), ourCard, 1),
		"a question of its own":     s.Question(id),
		"not an offer":              append([]byte{reply}, offered[1:]...),
		"without an identifier":     without(optServerID),
		"through a relay":           append(append([]byte{relayForw, 0}, make([]byte, 32)...), appendOption(nil, optRelayed, offered...)...),
		"what to boot and no lease": proxy.Handle(q).Reply,
		"no address":                without(optIANA),
		"garbage":                   []byte("no DHCP"),
		"nothing":                   nil,
	} {
		if a, ok := s.Server(answer, sender, id); ok {
			t.Errorf("%s: found %v", name, a)
		}
	}
	if _, ok := s.Server(offered, netip.Addr{}, id); ok {
		t.Error("found a server without an address")
	}
}

// Two interfaces may be on one segment: we hear our own search there, and are no other server.
func TestOurOwnSearchGetsNoLease(t *testing.T) {
	h, _ := newLab(t, true)
	var own dhcp.Searches
	own.Add(ourCard)
	server := NewServer(ServerConfig{Handler: h, Searches: own, Limiter: dhcp.NewLimiter(clock.RealClock{}), Logger: logr.Discard(), Clock: clock.RealClock{}})
	s := NewSearch(ourCard, searcher)
	from, _ := s.Ends()
	if _, counts := server.accept(s.Question([4]byte{1}), from); counts {
		t.Error("it is answered")
	}
	if _, counts := server.accept(NewSearch(net.HardwareAddr{0x52, 0x54, 0, 0, 0, 1}, searcher).Question([4]byte{1}), from); !counts {
		t.Error("that of another host is not")
	}
}

func FuzzSearch(f *testing.F) {
	s, id := NewSearch(ourCard, searcher), [4]byte{1, 2, 3, 4}
	f.Add(s.Question(id))
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, ok := s.Server(b, machineAddr.Addr(), id); ok != a.IsValid() {
			t.Errorf("found %v, %v", a, ok)
		}
	})
}
