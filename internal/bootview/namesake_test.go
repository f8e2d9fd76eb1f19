package bootview

import "testing"

// TestTwoMachinesWithOneUUID: the second has no UUID on record, because the first has it. It says that UUID all the same when it boots,
// and is told apart by its MAC address; whoever tells none, or one that is not on record, is the machine of the UUID, as ever.
func TestTwoMachinesWithOneUUID(t *testing.T) {
	const (
		shared      = "4c4c4544-0043-3510-8052-b7c04f4e4d32"
		first       = "02:fa:44:00:01:01"
		second      = "02:fa:44:00:01:02"
		handWritten = "02:fa:44:00:01:03"
	)
	v := New()
	v.SetSynced(true)
	boot := func(name string) Attempt { return Attempt{ID: "attempt-" + name, Token: "token-" + name, Open: true} }
	v.Put(Entry{Name: "IPXEBootConfig/ns/first", UUID: shared, MACs: []string{first}, Rank: Current, Script: ExitScript(), Attempt: boot("first")})
	v.Put(Entry{Name: "IPXEBootConfig/ns/second", MACs: []string{second}, Rank: Current, Script: ExitScript(), Attempt: boot("second")})
	v.Put(Entry{Name: "HTTPBootConfig/ns/hand", MACs: []string{handWritten}, Rank: HandWritten, FileURL: "http://10.0.0.1/uki"})
	for name, c := range map[string]struct{ mac, want string }{
		"no address":                      {"", "first"},
		"its own":                         {first, "first"},
		"an unknown one":                  {"02:fa:44:00:01:ff", "first"},
		"one that only firmware boots by": {handWritten, "first"},
		"that of the second":              {second, "second"},
		"in another spelling":             {"02-FA-44-00-01-02", "second"},
	} {
		if m, status := v.Find(shared, c.mac, ""); status != Found || m.Attempt().ID != "attempt-"+c.want {
			t.Errorf("%s: %s %+v, want %s", name, status, m, c.want)
		}
	}
	// One that has both on record is one machine.
	v.Put(Entry{Name: "IPXEBootConfig/ns/first", UUID: shared, MACs: []string{first, second}, Rank: Current, Script: ExitScript(), Attempt: boot("first")})
	if m, status := v.Find(shared, first, ""); status != Found || m.Attempt().ID != "attempt-first" {
		t.Errorf("with both addresses: %s %+v", status, m)
	}
}
