package bootview

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/identity"
)

const (
	uuidA = "4c4c4544-0043-3510-8052-b7c04f4e4d32"
	uuidB = "4c4c4544-0043-3510-8052-b7c04f4e4d33"
	macA  = "02:fa:44:00:00:0a"
	macB  = "02:fa:44:00:00:0b"
)

func text(s string) Script { return CustomScript([]byte(s)) }

func ipxe(name string, rank Rank, change func(*Entry)) Entry {
	e := Entry{Name: "IPXEBootConfig/ns/" + name, UUID: uuidA, Rank: rank, Script: text("script of " + name)}
	if change != nil {
		change(&e)
	}
	return e
}

func httpBoot(name string, rank Rank, change func(*Entry)) Entry {
	e := Entry{Name: "HTTPBootConfig/ns/" + name, UUID: uuidA, Rank: rank, FileURL: "http://uki/" + name}
	if change != nil {
		change(&e)
	}
	return e
}

func view(entries ...Entry) *View {
	v := New()
	for _, e := range entries {
		v.Put(e)
	}
	v.SetSynced(true)
	return v
}

// describe makes an answer comparable.
func describe(m *Machine, status Status) string {
	if m == nil {
		return status.String()
	}
	if status == Conflict {
		return "Conflict " + strings.Join(m.Conflict(), " ")
	}
	return fmt.Sprintf("%s uuid=%s script=%s/%q ignition=%s uki=%s/%s attempt=%+v",
		status, m.UUID, m.ScriptEntry(), m.Script().Render("B"), m.IgnitionEntry(), m.FileEntry(), m.FileURL(), m.Attempt())
}

func TestUUIDRules(t *testing.T) {
	noUUID := func(e *Entry) { e.UUID = "" }
	ignition := &Ignition{Payload: []byte("{}")}
	found := func(script, ignition, uki string) string {
		return "Found " + script + "," + ignition + "," + uki
	}
	for name, tc := range map[string]struct {
		entries []Entry
		want    string
	}{
		"nobody": {nil, "Unknown"},
		"one":    {[]Entry{ipxe("a", Current, nil)}, found("a", "", "")},
		"stale":  {[]Entry{ipxe("a", Stale, nil)}, "Unknown"},
		"placeholder UUID": {[]Entry{ipxe("a", Current, func(e *Entry) {
			e.UUID = "00000000-0000-0000-0000-000000000000"
		})}, "Unknown"},
		"current beats hand-written": {[]Entry{ipxe("hand", HandWritten, nil), ipxe("a", Current, nil), ipxe("other", HandWritten, nil)},
			found("a", "", "")},
		"current UKI hides a hand-written script": {[]Entry{ipxe("hand", HandWritten, nil), httpBoot("a", Current, nil)}, found("", "", "a")},
		"stale hides nothing":                     {[]Entry{ipxe("hand", HandWritten, nil), ipxe("a", Stale, nil)}, found("hand", "", "")},
		"two current":                             {[]Entry{ipxe("b", Current, nil), ipxe("a", Current, nil)}, "Conflict IPXEBootConfig/ns/a IPXEBootConfig/ns/b"},
		"two hand-written":                        {[]Entry{ipxe("b", HandWritten, nil), ipxe("a", HandWritten, nil)}, "Conflict IPXEBootConfig/ns/a IPXEBootConfig/ns/b"},
		"kinds combine": {[]Entry{
			httpBoot("a", Current, func(e *Entry) { e.Ignition = ignition }),
			ipxe("a", Current, nil),
		}, found("a", "a", "a")},
		"without UUID not found by UUID": {[]Entry{ipxe("a", Current, noUUID)}, "Unknown"},
		"replaced":                       {[]Entry{ipxe("a", Current, nil), ipxe("a", Current, noUUID)}, "Unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			m, status := view(tc.entries...).ByUUID(strings.ToUpper(uuidA))
			got := status.String()
			switch status {
			case Found:
				got = found(base(m.ScriptEntry()), base(m.IgnitionEntry()), base(m.FileEntry()))
			case Conflict:
				got = describe(m, status)
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

func TestAddressRules(t *testing.T) {
	at := func(uuid string) func(*Entry) {
		return func(e *Entry) { e.UUID, e.MACs, e.IPs = uuid, []string{macA}, []string{"10.0.0.7"} }
	}
	for name, tc := range map[string]struct {
		entries []Entry
		want    string // status and the UKI entry
	}{
		"one":                              {[]Entry{httpBoot("a", Current, at(uuidA))}, "Found a"},
		"without UUID":                     {[]Entry{httpBoot("a", HandWritten, at(""))}, "Found a"},
		"address of one, UKI of the other": {[]Entry{ipxe("a", Current, at(uuidA)), httpBoot("a", Current, nil)}, "Found a"},
		"two machines":                     {[]Entry{httpBoot("a", Current, at(uuidA)), httpBoot("b", Current, at(uuidB))}, "Conflict"},
		"two machines, one stronger":       {[]Entry{httpBoot("a", HandWritten, at(uuidA)), httpBoot("b", Current, at(uuidB))}, "Found b"},
		"two machines, one stale":          {[]Entry{httpBoot("a", Stale, at(uuidA)), httpBoot("b", HandWritten, at(uuidB))}, "Found b"},
		"two without UUID":                 {[]Entry{httpBoot("a", HandWritten, at("")), httpBoot("b", HandWritten, at(""))}, "Conflict"},
		"one names no UUID":                {[]Entry{ipxe("a", HandWritten, at(uuidA)), httpBoot("b", HandWritten, at(""))}, "Found b"},
		"one names no UUID and is one too many": {[]Entry{
			ipxe("a", HandWritten, at(uuidA)), httpBoot("a", HandWritten, nil), httpBoot("b", HandWritten, at(""))}, "Conflict"},
		"hand-written address of a current machine": {[]Entry{
			httpBoot("hand", HandWritten, at(uuidA)), httpBoot("a", Current, nil)}, "Found a"},
	} {
		t.Run(name, func(t *testing.T) {
			v := view(tc.entries...)
			for _, address := range []string{macA, "02-FA-44-00-00-0A", "02fa.4400.000a", "10.0.0.7", "::ffff:10.0.0.7", " 10.0.0.7"} {
				m, status := v.ByAddress(address)
				got := status.String()
				if status == Found {
					got += " " + base(m.FileEntry())
				}
				if got != tc.want {
					t.Errorf("%s: got %q, want %q", address, got, tc.want)
				}
			}
		})
	}
}

// TestTwoBoardsWithTheUUIDThatTheirVendorShips: they are told apart by their MACs and serial numbers, and neither is found by the UUID.
func TestTwoBoardsWithTheUUIDThatTheirVendorShips(t *testing.T) {
	for _, placeholder := range []string{"03000200-0400-0500-0006-000700080009", "{00020003-0004-0005-0006-000700080009}", "FEFEFEFE-FEFE-FEFE-FEFE-FEFEFEFEFEFE"} {
		v := view(
			ipxe("a", Current, func(e *Entry) { e.UUID, e.MACs, e.Serial = placeholder, []string{macA}, "SN-1" }),
			ipxe("b", Current, func(e *Entry) { e.UUID, e.MACs, e.Serial = placeholder, []string{macB}, "SN-2" }),
		)
		for _, tc := range []struct{ mac, serial, want string }{{macA, "", "a"}, {macB, "", "b"}, {"", "SN-1", "a"}, {"", "SN-2", "b"}, {"", "", "Unknown"}} {
			m, status := v.Find(placeholder, tc.mac, tc.serial)
			got := status.String()
			if status == Found {
				got = base(m.ScriptEntry())
			}
			if got != tc.want {
				t.Errorf("Find(%q, %q, %q) = %s, want %s", placeholder, tc.mac, tc.serial, got, tc.want)
			}
		}
	}
}

func TestFind(t *testing.T) {
	v := view(
		ipxe("a", Current, nil),
		ipxe("b", Current, func(e *Entry) { e.UUID, e.MACs, e.Serial = "", []string{macB}, " SN-7 " }),
		ipxe("c", Current, func(e *Entry) { e.UUID, e.Serial = "", "To Be Filled By O.E.M." }),
	)
	for _, tc := range []struct{ uuid, mac, serial, want string }{
		{uuidA, macB, "SN-7", "a"},
		{uuidB, macB, "", "b"},
		{"", "02-fa-44-00-00-0b", "", "b"},
		{uuidB, macA, "sn-7", "b"},
		{"", "", "", "Unknown"},
		{uuidB, macA, "SN-8", "Unknown"},
		{"", "", "To be filled by O.E.M.", "Unknown"},
		{"nonsense", "nonsense", "nonsense", "Unknown"},
	} {
		m, status := v.Find(tc.uuid, tc.mac, tc.serial)
		got := status.String()
		if status == Found {
			got = base(m.ScriptEntry())
		}
		if got != tc.want {
			t.Errorf("Find(%q, %q, %q) = %s, want %s", tc.uuid, tc.mac, tc.serial, got, tc.want)
		}
	}
}

func TestTokens(t *testing.T) {
	attempt := func(id string, open bool) func(*Entry) {
		return func(e *Entry) {
			e.MACs = []string{macA}
			e.Attempt = Attempt{ID: id, Token: "token-" + id, Open: open}
		}
	}
	v := view(ipxe("a", Current, attempt("1", true)), httpBoot("a", Current, attempt("1", true)))
	expect := func(token, want string) {
		t.Helper()
		m, ok := v.ByToken(token)
		got := "no"
		if ok {
			got = m.UUID + " " + m.Attempt().ID
		}
		if got != want {
			t.Errorf("ByToken(%q) = %s, want %s", token, got, want)
		}
	}
	expect("token-1", uuidA+" 1")
	expect("token-2", "no")
	expect("", "no")

	v.Put(ipxe("a", Current, attempt("2", true)))
	expect("token-1", "no") // of an earlier attempt, though one entry still carries it
	expect("token-2", uuidA+" 2")

	v.Put(ipxe("a", Current, attempt("2", false)))
	expect("token-2", "no")

	v.Put(ipxe("a", Stale, attempt("3", true)))
	expect("token-3", "no")

	v.Put(ipxe("a", Current, func(e *Entry) { attempt("4", true)(e); e.UUID = "" }))
	v.Delete("HTTPBootConfig/ns/a")
	expect("token-4", " 4")

	v.SetSynced(false)
	expect("token-4", "no")
}

func TestNothingIsAnsweredBeforeTheViewIsComplete(t *testing.T) {
	v := view(ipxe("a", Current, func(e *Entry) { e.MACs = []string{macA} }))
	v.SetSynced(false)
	for name, lookup := range map[string]func() (*Machine, Status){
		"ByUUID":              func() (*Machine, Status) { return v.ByUUID(uuidA) },
		"ByUUID, no UUID":     func() (*Machine, Status) { return v.ByUUID("?") },
		"Find":                func() (*Machine, Status) { return v.Find(uuidB, macA, "") },
		"ByAddress":           func() (*Machine, Status) { return v.ByAddress(macA) },
		"ByAddress, nonsense": func() (*Machine, Status) { return v.ByAddress("?") },
		"ByIP, invalid":       func() (*Machine, Status) { return v.ByIP(netip.Addr{}) },
	} {
		if m, status := lookup(); status != Unsynced || m != nil {
			t.Errorf("%s: %v", name, status)
		}
	}
}

func TestConflicts(t *testing.T) {
	at := func(uuid, mac string) func(*Entry) {
		return func(e *Entry) { e.UUID, e.MACs, e.Serial = uuid, []string{mac}, "SN" }
	}
	v := view(
		ipxe("a", Current, at(uuidA, macA)), httpBoot("a", Current, at(uuidA, macA)),
		ipxe("hand", HandWritten, at(uuidA, macA)),
		ipxe("b", Current, at(uuidB, macB)),
	)
	expect := func(name string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, v.Conflicts(name)); diff != "" {
			t.Errorf("Conflicts(%s) (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range []string{"IPXEBootConfig/ns/a", "HTTPBootConfig/ns/a", "IPXEBootConfig/ns/hand", "IPXEBootConfig/ns/b", "nobody"} {
		expect(name)
	}
	v.Put(ipxe("b", Current, at(uuidA, macB)))
	expect("IPXEBootConfig/ns/a", "IPXEBootConfig/ns/b")
	expect("IPXEBootConfig/ns/b", "IPXEBootConfig/ns/a")
	expect("HTTPBootConfig/ns/a")
	expect("IPXEBootConfig/ns/hand")

	v.Put(ipxe("b", Current, at(uuidB, macA)))
	expect("IPXEBootConfig/ns/a", "IPXEBootConfig/ns/b")
	expect("HTTPBootConfig/ns/a", "IPXEBootConfig/ns/b")
	expect("IPXEBootConfig/ns/b", "HTTPBootConfig/ns/a", "IPXEBootConfig/ns/a")

	v.Delete("IPXEBootConfig/ns/b")
	expect("IPXEBootConfig/ns/a")
}

func TestBelongsToOther(t *testing.T) {
	at := func(uuid string, ips ...string) func(*Entry) {
		return func(e *Entry) { e.UUID, e.IPs = uuid, ips }
	}
	v := view(
		ipxe("a", Current, at(uuidA, "10.0.0.1", "10.0.0.3")),
		ipxe("b", Current, at(uuidB, "10.0.0.2", "10.0.0.3")),
		ipxe("c", Current, at("", "10.0.0.4")),
	)
	a, _ := v.ByUUID(uuidA)
	c, _ := v.ByAddress("10.0.0.4")
	for _, tc := range []struct {
		address string
		machine *Machine
		want    bool
	}{
		{"10.0.0.1", a, false}, {"10.0.0.2", a, true}, {"10.0.0.3", a, false}, {"10.0.0.4", a, true}, {"10.0.0.5", a, false},
		{"10.0.0.4", c, false}, {"10.0.0.1", c, true}, {"10.0.0.3", c, true},
	} {
		if got := v.BelongsToOther(netip.MustParseAddr(tc.address), tc.machine); got != tc.want {
			t.Errorf("BelongsToOther(%s, %q) = %v", tc.address, tc.machine.UUID, got)
		}
	}
}

func TestCrowdedAddressIdentifiesNobody(t *testing.T) {
	v := view()
	one := func(i int) Entry {
		return ipxe(fmt.Sprint(i), Current, func(e *Entry) {
			e.UUID = fmt.Sprintf("4c4c4544-0043-3510-8052-%012d", i)
			e.IPs = []string{"172.17.0.1"}
		})
	}
	for i := range crowd + 1 {
		v.Put(one(i))
	}
	if _, status := v.ByAddress("172.17.0.1"); status != Unknown {
		t.Errorf("crowded: %v", status)
	}
	for i := range crowd {
		v.Delete(one(i).Name)
	}
	if _, status := v.ByAddress("172.17.0.1"); status != Found {
		t.Errorf("one left: %v", status)
	}
}

func TestCheck(t *testing.T) {
	good := ipxe("a", Current, func(e *Entry) { e.MACs, e.IPs, e.Serial = []string{macA}, []string{"fe80::1%eth0"}, "x" })
	if err := Check(good); err != nil {
		t.Error(err)
	}
	bad := Entry{UUID: "x", MACs: []string{macA, "y"}, IPs: []string{"z"}, Serial: "Default string"}
	err := Check(bad)
	for _, field := range []string{"name", "systemUUID", "macs[1]", "ips[0]", "serial"} {
		if err == nil || !strings.Contains(err.Error(), field+":") {
			t.Errorf("%v does not name %s", err, field)
		}
	}
}

func TestReadsDoNotAllocate(t *testing.T) {
	v := view(ipxe("a", Current, func(e *Entry) {
		e.MACs, e.IPs = []string{macA}, []string{"10.0.0.7"}
		e.Attempt = Attempt{ID: "1", Token: "token", Open: true}
	}))
	a := netip.MustParseAddr("10.0.0.7")
	for name, read := range map[string]func(){
		"ByUUID":          func() { v.ByUUID(uuidA) },
		"Find":            func() { v.Find(uuidA, "", "") },
		"ByAddress, MAC":  func() { v.ByAddress(macA) },
		"ByAddress, IPv4": func() { v.ByAddress("10.0.0.7") },
		"ByIP":            func() { v.ByIP(a) },
		"ByToken":         func() { v.ByToken("token") },
	} {
		if n := testing.AllocsPerRun(100, read); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func FuzzParseMAC(f *testing.F) {
	for _, s := range []string{macA, "02FA44-00000a", "02fa.4400.000a", "", "::", "02:fa:44:00:00:0a:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		canonical, err := identity.MAC(s)
		key, ok := parseMAC(s)
		if ok != (identity.MachineMAC(s) != "") {
			t.Fatalf("parseMAC(%q) ok=%v, identity.MAC says %q, %v", s, ok, canonical, err)
		}
		if !ok {
			return
		}
		if again, _ := parseMAC(canonical); again != key {
			t.Errorf("%q and its canonical form %q are two keys", s, canonical)
		}
	})
}

func FuzzParseUUID(f *testing.F) {
	for _, s := range []string{uuidA, strings.ToUpper(uuidA), "{" + uuidA + "}", "", "4c4c4544004335108052b7c04f4e4d32", "-" + uuidA[1:]} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		canonical, err := identity.UUID(s)
		key, ok := parseUUID(s)
		if err != nil || identity.MachineUUID(s) == "" {
			if ok {
				t.Fatalf("parseUUID(%q) is %v, identity.UUID says %v", s, key, err)
			}
			return
		}
		if want := strings.ReplaceAll(canonical, "-", ""); !ok || hex.EncodeToString(key.data[:]) != want {
			t.Errorf("parseUUID(%q) = %x, %v; identity.UUID says %q", s, key.data, ok, canonical)
		}
	})
}
