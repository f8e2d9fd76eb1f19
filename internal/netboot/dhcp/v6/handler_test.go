package v6

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
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
	fileURL   = "http://[2001:db8::1]:8082/httpboot/r/os/sha256-01.efi"
	scriptURL = "http://[2001:db8::1]:8082/ipxe"
	testUUID  = "00112233-4455-6677-8899-aabbccddeeff"
	// inOrder is the UUID as RFC 6355 has it, inMemory as EDK II sends it.
	inOrder  = "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
	inMemory = "\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
	ourDUID  = "\x00\x03\x00\x01\x02\x00\x00\x00\x00\x01"
)

// machineAddr is the link-local address that a machine makes of the MAC address 52:54:00:12:34:56.
var machineAddr = netip.MustParseAddrPort("[fe80::5054:ff:fe12:3456%eth0]:546")

// opt is an option as it is on the wire, written down from RFC 8415 §21.1.
func opt(code uint16, data string) string {
	b := binary.BigEndian.AppendUint16(nil, code)
	b = binary.BigEndian.AppendUint16(b, uint16(len(data)))
	return string(b) + data
}

func text16(s string) string { return string(binary.BigEndian.AppendUint16(nil, uint16(len(s)))) + s }

func ia(addrs ...string) string {
	var inside string
	for _, a := range addrs {
		inside += opt(5, string(netip.MustParseAddr(a).AsSlice())+"\x00\x00\x00\x00\x00\x00\x00\x00")
	}
	return opt(3, "\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x00"+inside)
}

func vendor(class string) string { return opt(16, "\x00\x00\x01\x57"+text16(class)) }

const xid = "\xca\xfe\x01"

// clients are the firmware of the table in docs/dhcp.md, and others, without the kind of their message.
var clients = map[string]string{
	"ipxe-bios":        xid + opt(1, "\x00\x04"+inOrder) + opt(15, text16("iPXE")) + vendor("PXEClient:Arch:00000:UNDI:002001") + opt(61, "\x00\x00") + opt(6, "\x00\x3b\x00\x3c"),
	"ovmf-pxe":         xid + opt(1, "\x00\x04"+inMemory) + vendor("PXEClient:Arch:00007:UNDI:003000") + opt(61, "\x00\x07") + opt(62, "\x01\x03\x00") + opt(6, "\x00\x3b\x00\x3c"),
	"ovmf-http":        xid + opt(1, "\x00\x04"+inMemory) + vendor("HTTPClient:Arch:00016:UNDI:003000") + opt(61, "\x00\x10") + opt(62, "\x01\x03\x00") + opt(6, "\x00\x3b\x00\x10"),
	"ipxe-efi":         xid + opt(1, "\x00\x04"+inOrder) + opt(15, text16("iPXE")) + vendor("PXEClient:Arch:00007:UNDI:003010") + opt(61, "\x00\x07"),
	"arm64-http":       xid + opt(1, "\x00\x03\x00\x01\x52\x54\x00\x12\x34\x56") + vendor("HTTPClient:Arch:00019:UNDI:003000") + opt(61, "\x00\x13"),
	"arm64-pxe":        xid + opt(1, "\x00\x03\x00\x01\x52\x54\x00\x12\x34\x56") + vendor("PXEClient:Arch:00011:UNDI:003000") + opt(61, "\x00\x0b"),
	"operating-system": xid + opt(1, "\x00\x01\x00\x01\x11\x22\x33\x44\x52\x54\x00\x12\x34\x56") + opt(6, "\x00\x17"),
}

type view struct {
	boot  dhcp.Boot
	uuid  string // the machine that is known; empty: every one
	asked []dhcp.Client
}

func (v *view) Boot(c dhcp.Client) dhcp.Boot {
	v.asked = append(v.asked, c)
	b := v.boot
	if v.uuid != "" && c.UUID != v.uuid {
		b.Standing = dhcp.Unknown
	}
	return b
}
func (*view) Answered(dhcp.Event) {}

func newLab(t *testing.T, leases bool) (*Handler, *view) {
	t.Helper()
	v := &view{boot: dhcp.Boot{Standing: dhcp.Known, FileURL: fileURL, ScriptURL: scriptURL}}
	cfg := Config{
		Boots: v, Policy: dhcp.Policy{Program: func(a dhcp.Arch) string {
			return map[dhcp.Arch]string{dhcp.BIOS: "undionly.kpxe", dhcp.X64: "snponly.efi"}[a]
		}}, MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, Server: netip.MustParseAddr("2001:db8::1"), DNS: []netip.Addr{netip.MustParseAddr("2001:db8::53")}, Domain: "rack.example",
	}
	if leases {
		var ranges []lease.Range
		for _, text := range []string{"2001:db8::1000-2001:db8::10ff/64", "2001:db8:1::1000-2001:db8:1::10ff/64"} {
			r, err := lease.ParseRange(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			ranges = append(ranges, r)
		}
		var err error
		if cfg.Pool, err = lease.New(lease.Config{Ranges: ranges, Clock: testingclock.NewFakePassiveClock(time.Unix(1_700_000_000, 0))}); err != nil {
			t.Fatal(err)
		}
	}
	return NewHandler(cfg), v
}

func handle(t *testing.T, h *Handler, packet string) Result {
	t.Helper()
	q, err := h.Read([]byte(packet), machineAddr)
	if err != nil {
		t.Fatal(err)
	}
	return h.Handle(q)
}

// reading is a packet as text, every option in its order, decoded anew from RFC 8415.
func reading(b []byte, indent string) string {
	var out strings.Builder
	if b[0] == relayRepl || b[0] == relayForw {
		fmt.Fprintf(&out, "%smessage %d hops %d link %s peer %s\n", indent, b[0], b[1], netip.AddrFrom16([16]byte(b[2:18])), netip.AddrFrom16([16]byte(b[18:34])))
		b = b[34:]
	} else {
		fmt.Fprintf(&out, "%smessage %d xid %x\n", indent, b[0], b[1:4])
		b = b[4:]
	}
	for len(b) > 0 {
		code, n := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		data := b[4 : 4+n]
		b = b[4+n:]
		switch code {
		case 9:
			fmt.Fprintf(&out, "%soption 9:\n%s", indent, reading(data, indent+"  "))
		case 59, 16:
			fmt.Fprintf(&out, "%soption %d: %q\n", indent, code, data)
		default:
			fmt.Fprintf(&out, "%soption %d: %s\n", indent, code, hex.EncodeToString(data))
		}
	}
	return out.String()
}

func relayed(packet string) string {
	link, peer := netip.MustParseAddr("2001:db8:1::1").As16(), machineAddr.Addr().WithZone("").As16()
	return "\x0c\x00" + string(link[:]) + string(peer[:]) + opt(18, "port 7") + opt(79, "\x00\x01\x52\x54\x00\x12\x34\x56") + opt(9, packet)
}

// beyond is a packet that comes through a relay of a network that there is no range for.
func beyond(packet string) string {
	link, peer := netip.MustParseAddr("2001:db8:9::1").As16(), machineAddr.Addr().WithZone("").As16()
	return "\x0c\x00" + string(link[:]) + string(peer[:]) + opt(9, packet)
}

// TestGoldenPackets answers every client in every mode.
func TestGoldenPackets(t *testing.T) {
	for name, packet := range clients {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			section := func(title, sent string, r Result) {
				fmt.Fprintf(&out, "# %s\n%s\n", title, reading([]byte(sent), ""))
				if r.Reply == nil {
					fmt.Fprintf(&out, "no reply (%s)\n\n", r.Event.Answer.Reason)
					return
				}
				fmt.Fprintf(&out, "to %s (%s)\n%s\n", r.To, r.Event.Answer.Reason, reading(r.Reply, ""))
			}
			proxy, _ := newLab(t, false)
			leases, _ := newLab(t, true)
			first, info, second := "\x01"+packet+ia(), "\x0b"+packet, "\x03"+packet+opt(2, ourDUID)+ia("2001:db8::1000")
			section("proxy mode: solicit", first, handle(t, proxy, first))
			section("proxy mode: information request", info, handle(t, proxy, info))
			section("server mode: solicit", first, handle(t, leases, first))
			section("server mode: request", second, handle(t, leases, second))
			section("server mode: relayed solicit", relayed(first), handle(t, leases, relayed(first)))
			golden.Equal(t, filepath.Join("testdata", name+".golden"), out.String())
		})
	}
}

func TestWhoAsks(t *testing.T) {
	for name, want := range map[string]dhcp.Client{
		"ipxe-bios":        {UUID: testUUID, Class: dhcp.PXEClass, Arch: dhcp.BIOS, IPXE: true, Vendor: "PXEClient:Arch:00000:UNDI:002001"},
		"ovmf-pxe":         {UUID: testUUID, Class: dhcp.PXEClass, Arch: dhcp.X64, Vendor: "PXEClient:Arch:00007:UNDI:003000"},
		"ovmf-http":        {UUID: testUUID, Class: dhcp.HTTPClass, Arch: dhcp.X64HTTP, Vendor: "HTTPClient:Arch:00016:UNDI:003000"},
		"ipxe-efi":         {UUID: testUUID, Class: dhcp.PXEClass, Arch: dhcp.X64, IPXE: true, Vendor: "PXEClient:Arch:00007:UNDI:003010"},
		"arm64-http":       {Class: dhcp.HTTPClass, Arch: dhcp.ARM64HTTP, Vendor: "HTTPClient:Arch:00019:UNDI:003000"},
		"operating-system": {Arch: dhcp.NoArch},
	} {
		h, v := newLab(t, true)
		handle(t, h, "\x01"+clients[name]+ia())
		if want.MAC, want.IPv6 = "52:54:00:12:34:56", true; v.asked[0] != want {
			t.Errorf("%s: %+v, want %+v", name, v.asked[0], want)
		}
	}
}

// Firmware sends its UUID in one order of octets or in the other. The one that is a machine's counts.
func TestUUIDsInEitherOrder(t *testing.T) {
	for _, duid := range []string{inOrder, inMemory} {
		for _, userClass := range []string{"", opt(15, text16("iPXE"))} {
			h, v := newLab(t, false)
			v.uuid = testUUID
			r := handle(t, h, "\x01"+xid+opt(1, "\x00\x04"+duid)+userClass+vendor("PXEClient:Arch:00007")+ia())
			if r.Reply == nil || r.Event.Client.UUID != testUUID {
				t.Errorf("%x, user class %q: %+v", duid, userClass, r.Event.Client)
			}
		}
	}
}

func TestMACs(t *testing.T) {
	far := netip.MustParseAddrPort("[2001:db8::77]:546")
	other := "\x00\x02\x00\x00\x01\x57other"
	for name, c := range map[string]struct {
		packet string
		from   netip.AddrPort
		want   string
	}{
		"DUID-LL":                      {"\x01" + xid + opt(1, "\x00\x03\x00\x01\x52\x54\x00\xaa\xaa\xaa"), machineAddr, "52:54:00:aa:aa:aa"},
		"DUID-LLT":                     {"\x01" + xid + opt(1, "\x00\x01\x00\x01\x00\x00\x00\x01\x52\x54\x00\xbb\xbb\xbb"), machineAddr, "52:54:00:bb:bb:bb"},
		"its address":                  {"\x01" + xid + opt(1, other), machineAddr, "52:54:00:12:34:56"},
		"an address of something else": {"\x01" + xid + opt(1, other), far, ""},
		"InfiniBand":                   {"\x01" + xid + opt(1, "\x00\x03\x00\x20\x52\x54\x00\xaa\xaa\xaa"), far, ""},
		"the relay":                    {relayed("\x01" + xid + opt(1, "\x00\x03\x00\x01\x52\x54\x00\xaa\xaa\xaa")), far, "52:54:00:12:34:56"},
	} {
		h, _ := newLab(t, true)
		q, err := h.Read([]byte(c.packet), c.from)
		if err != nil || q.client.MAC != c.want {
			t.Errorf("%s: %q, %v; want %q", name, q.client.MAC, err, c.want)
		}
	}
}

func TestOldUserClass(t *testing.T) {
	h, _ := newLab(t, true)
	if r := handle(t, h, "\x01"+xid+opt(1, "\x00\x04"+inOrder)+opt(15, "iPXE")+vendor("PXEClient:Arch:00000")+ia()); !r.Event.Client.IPXE {
		t.Error("a user class without a length is not understood")
	}
}

func TestMalformedPackets(t *testing.T) {
	deep := "\x01" + clients["ovmf-pxe"]
	for range maxRelays + 1 {
		deep = relayed(deep)
	}
	for name, packet := range map[string]string{
		"empty":                      "",
		"cut within the transaction": "\x01\x00\x00",
		"cut within an option":       "\x01" + xid + "\x00\x01\x00",
		"an option that is too long": "\x01" + xid + "\x00\x01\x00\xff\x00",
		"no client identifier":       "\x01" + xid + ia(),
		"a DUID that is too short":   "\x01" + xid + opt(1, "\x00"),
		"a DUID that is too long":    "\x01" + xid + opt(1, strings.Repeat("x", maxDUID+1)),
		"relayed too often":          deep,
		"a relay with nothing in it": "\x0c\x00" + strings.Repeat("\x00", 32),
		"a relay that is cut off":    "\x0c\x00\x00",
	} {
		h, v := newLab(t, true)
		if _, err := h.Read([]byte(packet), machineAddr); !errors.Is(err, errMalformed) || len(v.asked) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// RFC 8415 §18.3: which messages are answered, and how.
func TestMessages(t *testing.T) {
	who, ours, others := clients["operating-system"], opt(2, ourDUID), opt(2, "\x00\x03\x00\x01\x02\x00\x00\x00\x00\x09")
	status := func(code byte) string { return opt(13, "\x00"+string([]byte{code})) }
	for name, c := range map[string]struct {
		packet string
		kind   byte
		has    string
	}{
		"solicit":                            {"\x01" + who + ia(), advertise, string(netip.MustParseAddr("2001:db8::1000").AsSlice())},
		"solicit to a server":                {"\x01" + who + ours + ia(), 0, ""},
		"solicit for two addresses":          {"\x01" + who + ia() + ia(), advertise, status(noAddrsAvail)},
		"request":                            {"\x03" + who + ours + ia("2001:db8::1000"), reply, string(netip.MustParseAddr("2001:db8::1000").AsSlice())},
		"request of another server":          {"\x03" + who + others + ia("2001:db8::1000"), 0, ""},
		"request of no server":               {"\x03" + who + ia("2001:db8::1000"), 0, ""},
		"request for another network":        {"\x03" + who + ours + ia("2001:db8:9::1"), reply, status(notOnLink)},
		"request for what is outside":        {"\x03" + who + ours + ia("2001:db8::9"), reply, string(netip.MustParseAddr("2001:db8::1000").AsSlice())},
		"renewal":                            {"\x05" + who + ours + ia("2001:db8::1000"), reply, string(netip.MustParseAddr("2001:db8::1000").AsSlice())},
		"renewal of what is nobody's":        {"\x05" + who + ours + ia("2001:db8::9"), reply, status(noBinding)},
		"renewal from another network":       {"\x05" + who + ours + ia("2001:db8:9::1"), reply, ia("2001:db8:9::1")},
		"rebinding from another network":     {"\x06" + who + ia("2001:db8:9::1", "2001:db8:9::2"), reply, ia("2001:db8:9::1", "2001:db8:9::2")},
		"confirmation on an unknown network": {beyond("\x04" + who + ia("2001:db8:9::1")), 0, ""},
		"rebinding on an unknown network":    {beyond("\x06" + who + ia("2001:db8:9::1")), 0, ""},
		"release of two, one is not its own": {"\x08" + who + ours + ia("2001:db8::1000", "2001:db8::1001", "2001:db8::1002"), reply, opt(1, "\x00\x01\x00\x01\x11\x22\x33\x44\x52\x54\x00\x12\x34\x56") + ours + status(success) + opt(3, "\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x00"+status(noBinding))},
		"rebinding":                          {"\x06" + who + ia("2001:db8::1000"), reply, string(netip.MustParseAddr("2001:db8::1000").AsSlice())},
		"rebinding of what is nobody's":      {"\x06" + who + ia("2001:db8::9"), 0, ""},
		"confirmation here":                  {"\x04" + who + ia("2001:db8::1000"), reply, status(success)},
		"confirmation elsewhere":             {"\x04" + who + ia("2001:db8:9::1"), reply, status(notOnLink)},
		"confirmation of nothing":            {"\x04" + who + ia(), 0, ""},
		"release":                            {"\x08" + who + ours + ia("2001:db8::1000"), reply, status(success)},
		"release of what it does not have":   {"\x08" + who + ours + ia("2001:db8::1001"), reply, status(noBinding)},
		"decline":                            {"\x09" + who + ours + ia("2001:db8::1000"), reply, status(success)},
		"information":                        {"\x0b" + who, reply, opt(24, "\x04rack\x07example\x00")},
		"information without an identifier":  {"\x0b" + xid, reply, opt(23, string(netip.MustParseAddr("2001:db8::53").AsSlice()))},
		"an advertisement of another server": {"\x02" + who, 0, ""},
		"no message that there is":           {"\x63" + who, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newLab(t, true)
			handle(t, h, "\x03"+who+ours+ia()) // it has 2001:db8::1000
			r := handle(t, h, c.packet)
			switch {
			case c.kind == 0 && r.Reply != nil:
				t.Errorf("answered:\n%s", reading(r.Reply, ""))
			case c.kind != 0 && (r.Reply == nil || r.Reply[0] != c.kind || !strings.Contains(string(r.Reply), c.has)):
				t.Errorf("got %x, %v", r.Reply, r.Err)
			}
			if has := c.kind == reply && strings.HasPrefix(c.has, "\x20\x01\x0d\xb8"); r.Event.Leased() != has {
				t.Errorf("it is said of %s that the client has it: %v", r.Event.Addr, r.Event.Leased())
			}
		})
	}
}

// One client has one address, however many it asks for, and by whatever name.
func TestOneClientDoesNotEmptyThePool(t *testing.T) {
	h, _ := newLab(t, true)
	for n := range 100 {
		duid := "\x00\x02\x00\x00\x01\x57" + fmt.Sprint(n) // another one each time, from one address
		handle(t, h, "\x03"+xid+opt(1, duid)+opt(2, ourDUID)+ia())
	}
	if got := len(h.cfg.Pool.Leases()); got != 1 {
		t.Errorf("%d leases", got)
	}
}

func TestStrangersAndUnsynced(t *testing.T) {
	for standing, want := range map[dhcp.Standing]bool{dhcp.Unknown: true, dhcp.Unsynced: false} {
		h, v := newLab(t, true)
		v.boot.Standing = standing
		r := handle(t, h, "\x01"+clients["ovmf-pxe"]+ia())
		if (r.Reply != nil) != want || strings.Contains(string(r.Reply), "tftp://") {
			t.Errorf("%d: %x", standing, r.Reply)
		}
	}
}

func TestAdvertisement(t *testing.T) {
	b := advertisement(net.HardwareAddr{2, 0, 0, 0, 0, 1}, []netip.Prefix{netip.MustParsePrefix("2001:db8::/64")})
	// RFC 4861 §4.2, §4.6.1, §4.6.2: managed and other flags, a lifetime of zero as a router, one prefix that is on link and not for autoconfiguration.
	want := "86000000" + "40c00000" + "00000000" + "00000000" + "0101020000000001" + "03044080" + "00000e10" + "00000e10" + "00000000" + "20010db8000000000000000000000000"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !isSolicitation(append([]byte{133, 0}, make([]byte, 6)...)) || isSolicitation(b) || isSolicitation([]byte{133}) {
		t.Error("solicitations are not told from others")
	}
}

// FuzzHandle: whatever comes in, what goes out can be read again.
func FuzzHandle(f *testing.F) {
	for _, packet := range clients {
		f.Add([]byte("\x01"+packet+ia()), true)
		f.Add([]byte(relayed("\x03"+packet+opt(2, ourDUID)+ia("2001:db8::1000"))), false)
	}
	f.Fuzz(func(t *testing.T, packet []byte, leases bool) {
		h, _ := newLab(t, leases)
		q, err := h.Read(packet, machineAddr)
		if err != nil {
			return
		}
		if r := h.Handle(q); r.Reply != nil {
			reading(r.Reply, "")
		}
	})
}
