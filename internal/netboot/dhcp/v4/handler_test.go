package v4

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
	"github.com/farrier-dev/farrier/test/golden"
)

const (
	fileURL   = "http://192.0.2.1:8082/httpboot/registry.example/os/sha256-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.efi"
	scriptURL = "http://192.0.2.1:8082/ipxe"
)

var server = netip.MustParseAddr("192.0.2.1")

// view stands for the boot server.
type view struct {
	boot   dhcp.Boot
	asked  []dhcp.Client
	events []dhcp.Event
}

func (v *view) Boot(c dhcp.Client) dhcp.Boot { v.asked = append(v.asked, c); return v.boot }
func (v *view) Answered(e dhcp.Event)        { v.events = append(v.events, e) }

func knownView() *view {
	return &view{boot: dhcp.Boot{Standing: dhcp.Known, FileURL: fileURL, ScriptURL: scriptURL, UUID: testUUID}}
}

func testPrograms(a dhcp.Arch) string {
	return map[dhcp.Arch]string{dhcp.BIOS: "undionly.kpxe", dhcp.X64: "snponly.efi"}[a]
}

type lab struct {
	*Handler
	view   *view
	clock  *testingclock.FakePassiveClock
	others []netip.Addr
}

func newLab(t *testing.T, lease bool) *lab {
	t.Helper()
	l := &lab{view: knownView(), clock: newClock()}
	cfg := Config{
		Boots: l.view, Policy: dhcp.Policy{Program: testPrograms}, Server: server, Routers: []netip.Addr{netip.MustParseAddr("192.0.2.254"), netip.MustParseAddr("198.51.100.254")},
		DNS: []netip.Addr{netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("192.0.2.54")}, Domain: "rack.example",
		OtherServer: func(a netip.Addr) { l.others = append(l.others, a) },
	}
	if lease {
		cfg.Pool = newTestPool(t, l.clock)
	}
	l.Handler = NewHandler(cfg)
	return l
}

func newClock() *testingclock.FakePassiveClock {
	return testingclock.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
}

func newTestPool(t *testing.T, c *testingclock.FakePassiveClock) *lease.Pool {
	t.Helper()
	var ranges []lease.Range
	for _, text := range []string{"192.0.2.100-192.0.2.109/24", "198.51.100.100-198.51.100.109/24"} {
		r, err := lease.ParseRange(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		ranges = append(ranges, r)
	}
	p, err := lease.New(lease.Config{Ranges: ranges, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var nobody = netip.MustParseAddrPort("0.0.0.0:68")

func (l *lab) handle(t *testing.T, a asked, from netip.AddrPort, port uint16) Result {
	t.Helper()
	q, err := l.Read(a.bytes(), from, port)
	if err != nil {
		t.Fatal(err)
	}
	return l.Handle(q)
}

// printed is a result as the golden files have it.
func printed(r Result) string {
	if r.Reply == nil {
		return fmt.Sprintf("no reply (%s)\n", r.Event.Answer.Reason)
	}
	b := r.Reply.ToBytes()
	way := map[Way]string{Unicast: "unicast", Layer2: "unicast at layer 2", Broadcast: "broadcast"}[r.To.Way]
	return fmt.Sprintf("%s to %s %s (%s)\n%s", way, r.To.Addr, r.To.MAC, r.Event.Answer.Reason, reading(b))
}

// TestGoldenPackets answers every client in every mode. The requests are in the golden files too, so that these can be read and compared
// with a capture.
func TestGoldenPackets(t *testing.T) {
	for name, a := range clients {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			section := func(title string, a asked, r Result) {
				fmt.Fprintf(&out, "# %s\n%s\n%s\n", title, reading(a.bytes()), printed(r))
			}
			proxy := newLab(t, false)
			section("proxy mode: discover on port 67", a, proxy.handle(t, a, nobody, ServerPort))
			request := a.with(option{53, requestType})
			section("proxy mode: request on port 67", request, proxy.handle(t, request, nobody, ServerPort))
			request.ciaddr = [4]byte{192, 0, 2, 77}
			section("proxy mode: request on port 4011", request, proxy.handle(t, request, netip.MustParseAddrPort("192.0.2.77:4011"), ProxyPort))
			leases := newLab(t, true)
			section("server mode: discover", a, leases.handle(t, a, nobody, ServerPort))
			request = a.with(option{53, requestType}, option{54, "\xc0\x00\x02\x01"}, option{50, "\xc0\x00\x02\x64"})
			section("server mode: request", request, leases.handle(t, request, nobody, ServerPort))
			relayed := a.with(option{82, "\x01\x04port"})
			relayed.giaddr = [4]byte{198, 51, 100, 1}
			section("server mode: relayed discover", relayed, leases.handle(t, relayed, netip.MustParseAddrPort("198.51.100.1:67"), ServerPort))
			golden.Equal(t, filepath.Join("testdata", name+".golden"), out.String())
		})
	}
}

func TestWhoAsks(t *testing.T) {
	want := map[string]dhcp.Client{
		"ipxe-bios":        {Class: dhcp.PXEClass, Arch: dhcp.BIOS, IPXE: true, Vendor: "PXEClient:Arch:00000:UNDI:002001"},
		"bios-pxe":         {Class: dhcp.PXEClass, Arch: dhcp.BIOS, Vendor: "PXEClient:Arch:00000:UNDI:002001"},
		"ovmf-pxe":         {Class: dhcp.PXEClass, Arch: dhcp.X64, Vendor: "PXEClient:Arch:00007:UNDI:003000"},
		"ovmf-http":        {Class: dhcp.HTTPClass, Arch: dhcp.X64HTTP, Vendor: "HTTPClient:Arch:00016:UNDI:003000"},
		"ipxe-efi":         {Class: dhcp.PXEClass, Arch: dhcp.X64, IPXE: true, Vendor: "PXEClient:Arch:00007:UNDI:003010"},
		"arm64-pxe":        {Class: dhcp.PXEClass, Arch: dhcp.ARM64, Vendor: "PXEClient:Arch:00011:UNDI:003000"},
		"arm64-http":       {Class: dhcp.HTTPClass, Arch: dhcp.ARM64HTTP, Vendor: "HTTPClient:Arch:00019:UNDI:003000"},
		"operating-system": {Arch: dhcp.NoArch},
	}
	for name, a := range clients {
		l := newLab(t, false)
		l.handle(t, a, nobody, ServerPort)
		c := want[name]
		c.MAC, c.UUID = "52:54:00:12:34:56", testUUID
		if name == "operating-system" {
			c.UUID = ""
		}
		if len(l.view.asked) != 1 || l.view.asked[0] != c {
			t.Errorf("%s: %+v, want %+v", name, l.view.asked, c)
		}
	}
}

func TestMalformedPackets(t *testing.T) {
	good := clients["ovmf-pxe"]
	multicast, zero := good, good
	multicast.mac, zero.mac = [6]byte{1, 0, 0x5e, 0, 0, 1}, [6]byte{}
	relay := good
	relay.giaddr = [4]byte{255, 255, 255, 255}
	group := good
	group.giaddr = [4]byte{224, 0, 0, 1}
	reply := good.bytes()
	reply[0] = 2
	infiniband := good.bytes()
	infiniband[1] = 32
	cookie := good.bytes()
	cookie[236] = 0
	cut := good.bytes()
	for name, packet := range map[string][]byte{
		"option 97 of 16 octets":       good.with(option{97, wireUUID[:16]}).bytes(),
		"option 97 of 18 octets":       good.with(option{97, wireUUID + "x"}).bytes(),
		"option 97 of none":            good.with(option{97, ""}).bytes(),
		"from a multicast address":     multicast.bytes(),
		"from no address":              zero.bytes(),
		"a relay that is everybody":    relay.bytes(),
		"a relay that is a group":      group.bytes(),
		"a reply":                      reply,
		"no Ethernet":                  infiniband,
		"no cookie":                    cookie,
		"cut within an option":         cut[:len(cut)-5],
		"cut within the fixed fields":  cut[:100],
		"empty":                        nil,
		"an option longer than it all": append(cut[:len(cut)-1], 93, 200, 0),
	} {
		l := newLab(t, true)
		if _, err := l.Read(packet, nobody, ServerPort); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
		if len(l.view.asked) > 0 {
			t.Errorf("%s: somebody was looked up", name)
		}
	}
}

func TestOtherMachineIdentifiers(t *testing.T) {
	for name, value := range map[string]string{"another type": "\x01" + wireUUID[1:], "zeros": strings.Repeat("\x00", 17), "ones": "\x00" + strings.Repeat("\xff", 16)} {
		l := newLab(t, false)
		l.handle(t, clients["ovmf-pxe"].with(option{97, value}), nobody, ServerPort)
		if got := l.view.asked[0].UUID; got != "" {
			t.Errorf("%s: UUID %s", name, got)
		}
	}
}

// A URL that does not fit into the field is in option 67 alone, and one that does not fit into an option is in two of them (RFC 3396).
func TestLongURLs(t *testing.T) {
	for _, n := range []int{127, 128, 255, 256, 600} {
		l := newLab(t, false)
		l.view.boot.FileURL = "http://h/" + strings.Repeat("x", n-len("http://h/"))
		r := l.handle(t, clients["ovmf-http"], nobody, ServerPort)
		b := r.Reply.ToBytes()
		if inFile := b[108] != 0; inFile != (n < 128) {
			t.Errorf("%d octets: in the field file: %v", n, inFile)
		}
		var option67 []byte
		for rest := b[240:]; rest[0] != 255; rest = rest[2+int(rest[1]):] {
			if rest[0] == 67 {
				option67 = append(option67, rest[2:2+int(rest[1])]...)
			}
		}
		if string(option67) != l.view.boot.FileURL {
			t.Errorf("%d octets: option 67 is %q", n, option67)
		}
	}
}

func TestDestinations(t *testing.T) {
	plain := clients["operating-system"]
	broadcast := plain
	broadcast.flags = 0x8000
	relayed := plain
	relayed.giaddr, relayed.flags = [4]byte{198, 51, 100, 1}, 0x8000
	for name, c := range map[string]struct {
		asked asked
		way   Way
		to    string
	}{
		"the address is not its own yet": {plain, Layer2, "192.0.2.100:68"},
		"it cannot take unicast":         {broadcast, Broadcast, "255.255.255.255:68"},
		"behind a relay":                 {relayed, Unicast, "198.51.100.1:67"},
	} {
		r := newLab(t, true).handle(t, c.asked, nobody, ServerPort)
		if r.To.Way != c.way || r.To.Addr.String() != c.to {
			t.Errorf("%s: %+v", name, r.To)
		}
	}
	l := newLab(t, true)
	l.handle(t, plain, nobody, ServerPort)
	renew := plain.with(option{53, requestType})
	renew.ciaddr = [4]byte{192, 0, 2, 100}
	if r := l.handle(t, renew, netip.MustParseAddrPort("192.0.2.100:68"), ServerPort); r.Reply == nil || r.To.Way != Unicast || r.To.Addr.String() != "192.0.2.100:68" {
		t.Errorf("renewal: %+v", r)
	}
}

// RFC 2131 §4.3.2, table 4.
func TestRequests(t *testing.T) {
	ours, others := option{54, "\xc0\x00\x02\x01"}, option{54, "\xc0\x00\x02\x09"}
	request := clients["operating-system"].with(option{53, requestType})
	at := func(last byte) option { return option{50, "\xc0\x00\x02" + string([]byte{last})} }
	using := func(last byte) asked { a := request; a.ciaddr = [4]byte{192, 0, 2, last}; return a }
	for name, c := range map[string]struct {
		asked asked
		step  string
		other int
	}{
		"selecting, as offered":                 {request.with(ours, at(100)), "ack", 0},
		"selecting, not as offered":             {request.with(ours, at(105)), "nak", 0},
		"selecting, outside of the range":       {request.with(ours, at(200)), "nak", 0},
		"selecting another server":              {request.with(others, at(9)), "", 1},
		"starting again with its address":       {request.with(at(100)), "ack", 0},
		"starting again with one of no record":  {request.with(at(105)), "", 0},
		"starting again, from another network":  {request.with(option{50, "\x0a\x00\x00\x01"}), "nak", 0},
		"renewing":                              {using(100), "ack", 0},
		"renewing one of which nothing is left": {using(200), "", 0},
		"asking for nothing":                    {request, "nak", 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, true)
			l.handle(t, clients["operating-system"], nobody, ServerPort) // is offered .100
			if r := l.handle(t, c.asked, nobody, ServerPort); r.Event.Step != c.step || len(l.others) != c.other {
				t.Errorf("step %q, want %q; other servers %v; %v", r.Event.Step, c.step, l.others, r.Err)
			}
		})
	}
}

func TestAnotherClientsAddressIsRefused(t *testing.T) {
	l := newLab(t, true)
	l.handle(t, clients["operating-system"], nobody, ServerPort)
	other := clients["operating-system"].with(option{53, requestType}, option{50, "\xc0\x00\x02\x64"})
	other.mac[5]++
	r := l.handle(t, other, nobody, ServerPort)
	if r.Event.Step != "nak" || r.To.Way != Broadcast {
		t.Errorf("%+v", r)
	}
}

func TestDeclineAndRelease(t *testing.T) {
	ours := option{54, "\xc0\x00\x02\x01"}
	l := newLab(t, true)
	a := clients["operating-system"]
	l.handle(t, a, nobody, ServerPort)
	if r := l.handle(t, a.with(option{53, "\x04"}, ours, option{50, "\xc0\x00\x02\x64"}), nobody, ServerPort); r.Reply != nil || r.Err != nil {
		t.Errorf("decline: %+v", r)
	}
	next := l.handle(t, a, nobody, ServerPort)
	if got := next.Event.Addr.String(); got != "192.0.2.101" {
		t.Fatalf("after it declined .100 it is offered %s", got)
	}
	l.handle(t, a.with(option{53, requestType}, ours, option{50, "\xc0\x00\x02\x65"}), nobody, ServerPort)
	release := a.with(option{53, "\x07"}, ours)
	release.ciaddr = [4]byte{192, 0, 2, 101}
	if r := l.handle(t, release, nobody, ServerPort); r.Reply != nil || r.Err != nil {
		t.Errorf("release: %+v", r)
	}
	if n := len(l.cfg.Pool.Leases()); n != 0 {
		t.Errorf("%d leases after the release", n)
	}
}

// What is not known is left alone beside another DHCP server, and leased an address by us, without anything to boot.
func TestStrangers(t *testing.T) {
	for _, mode := range []bool{false, true} {
		l := newLab(t, mode)
		l.view.boot.Standing = dhcp.Unknown
		r := l.handle(t, clients["ovmf-pxe"], nobody, ServerPort)
		switch {
		case !mode && r.Reply != nil:
			t.Error("proxy mode: answered")
		case mode && (r.Reply == nil || r.Reply.Options[67] != nil || r.Reply.Options[60] != nil || r.Reply.BootFileName != ""):
			t.Errorf("server mode: %v", r.Reply)
		}
		if r.Event.Answer.Reason != dhcp.ReasonUnknown {
			t.Errorf("reason %s", r.Event.Answer.Reason)
		}
	}
}

// Before the view is complete nobody that boots is answered, and whoever only wants an address is.
func TestUnsynced(t *testing.T) {
	l := newLab(t, true)
	l.view.boot.Standing = dhcp.Unsynced
	if r := l.handle(t, clients["ovmf-pxe"], nobody, ServerPort); r.Reply != nil {
		t.Errorf("answered %v", r.Reply)
	}
	if r := l.handle(t, clients["operating-system"], nobody, ServerPort); r.Reply == nil {
		t.Error("no lease")
	}
}

func TestLinkSelection(t *testing.T) {
	l := newLab(t, true)
	a := clients["operating-system"].with(option{82, "\x01\x01x\x05\x04\xc6\x33\x64\x00"})
	a.giaddr = [4]byte{203, 0, 113, 1}
	r := l.handle(t, a, nobody, ServerPort)
	if got := r.Event.Addr.String(); got != "198.51.100.100" || r.To.Addr.String() != "203.0.113.1:67" {
		t.Errorf("%s by way of %s", got, r.To.Addr)
	}
	if got := string(r.Reply.Options[82]); got != "\x01\x01x\x05\x04\xc6\x33\x64\x00" {
		t.Errorf("option 82 comes back as %q", got)
	}
	for _, bad := range []string{"\x05", "\x05\x04\xc6", "\x05\x03abc", ""} {
		if got := linkSelection([]byte(bad)); got.IsValid() {
			t.Errorf("%q: %s", bad, got)
		}
	}
}

// FuzzHandle: whatever comes in, what goes out can be read again, and goes to one client or to the segment.
func FuzzHandle(f *testing.F) {
	for _, a := range clients {
		f.Add(a.bytes(), uint16(ServerPort), true)
		f.Add(a.with(option{53, requestType}, option{50, "\xc0\x00\x02\x64"}).bytes(), uint16(ProxyPort), false)
	}
	f.Fuzz(func(t *testing.T, packet []byte, port uint16, leases bool) {
		l := newLab(t, leases)
		q, err := l.Read(packet, nobody, port)
		if err != nil {
			return
		}
		r := l.Handle(q)
		if r.Reply == nil {
			return
		}
		if a := r.To.Addr.Addr(); a != everybody.Addr() && !isHost(a) && !q.Packet.ClientIPAddr.Equal(a.AsSlice()) {
			t.Errorf("a reply to %s", a)
		}
		reading(r.Reply.ToBytes())
	})
}
