package identity

import (
	"strings"
	"testing"
)

// spellings are ways in which BMCs, firmware and people write one UUID.
func spellings(uuid string) []string {
	bare := strings.ReplaceAll(uuid, "-", "")
	return []string{uuid, strings.ToUpper(uuid), bare, strings.ToUpper(bare), "{" + uuid + "}", "urn:uuid:" + uuid, "  " + uuid + "\n"}
}

func TestMachineUUID(t *testing.T) {
	for _, uuid := range []string{canonical, "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-ac1f6b000001", "03000200-0400-0500-0006-000700080008"} {
		for _, s := range spellings(uuid) {
			if got := MachineUUID(s); got != uuid {
				t.Errorf("MachineUUID(%q) = %q, want %q", s, got, uuid)
			}
		}
	}
	for _, placeholder := range []string{
		"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"03000200-0400-0500-0006-000700080009", "00020003-0004-0005-0006-000700080009",
		"fefefefe-fefe-fefe-fefe-fefefefefefe", "12345678-1234-5678-90ab-cddeefaabbcc", "4c4c4544-0020-2010-8020-a0c04f202020",
	} {
		for _, s := range spellings(placeholder) {
			if got := MachineUUID(s); got != "" {
				t.Errorf("MachineUUID(%q) = %q, and it is a placeholder", s, got)
			}
			if _, ok := MachineUUIDOctets(s); ok || !Placeholder(s) {
				t.Errorf("%q: octets of a machine %t, placeholder %t", s, ok, Placeholder(s))
			}
		}
	}
	if got := MachineUUID("no UUID"); got != "" {
		t.Errorf("%q", got)
	}
}

func TestMachineMAC(t *testing.T) {
	for s, want := range map[string]string{
		"02-FA-44-00-00-0A": "02:fa:44:00:00:0a", "02fa.4400.000a": "02:fa:44:00:00:0a", "00:00:00:00:00:01": "00:00:00:00:00:01",
		"00:00:00:00:00:00": "", "000000000000": "", "FF-FF-FF-FF-FF-FF": "", "02:fa:44": "", "": "", "02:fa:44:00:00:0a:0b": "",
	} {
		if got := MachineMAC(s); got != want {
			t.Errorf("MachineMAC(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestMachineSerial(t *testing.T) {
	for s, want := range map[string]string{
		" SN-7 ": "sn-7", "x": "x", "CZ3X0": "cz3x0", "100": "100", "x0y": "x0y", "1234567": "1234567",
		"": "", "  ": "", "0": "", "00000000": "", "XXXXXXXX": "", "....": "", "N/A": "", "None": "", "To Be Filled By O.E.M.": "", "Default string": "",
		"System Serial Number": "", "Not Specified": "", " 0123456789\t": "", "03000200-0400-0500-0006-000700080009": "",
	} {
		if got := MachineSerial(s); got != want {
			t.Errorf("MachineSerial(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestMachineAddress(t *testing.T) {
	for s, want := range map[string]bool{
		"02:fa:44:00:00:0a": true, "10.0.0.7": true, " ::ffff:10.0.0.7": true, "fe80::1%eth0": true,
		"0.0.0.0": false, "::": false, "00:00:00:00:00:00": false, "x": false, "": false,
	} {
		if got := IsMachineAddress(s); got != want {
			t.Errorf("IsMachineAddress(%q) = %t", s, got)
		}
	}
}

func TestMachineIdentitiesDoNotAllocate(t *testing.T) {
	upper := strings.ToUpper(canonical)
	if n := testing.AllocsPerRun(100, func() {
		_, _ = MachineUUIDOctets(canonical)
		_, _ = MachineUUIDOctets(upper)
		_, _ = MachineUUIDOctets("no UUID")
		_, _ = MachineUUIDOctets("{4C4C4544004335108052B7C04F4E4D32}")
		_, _ = MachineMACOctets("02-FA-44-00-00-0A")
		_, _, _ = Placeholder("S1"), Placeholder("To Be Filled By O.E.M."), Placeholder(canonical)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// FuzzMachine: however an identity is spelled, it is one, its canonical form is canonical, and strings and octets agree on what
// identifies a machine.
func FuzzMachine(f *testing.F) {
	for _, s := range append(spellings(canonical), "03000200-0400-0500-0006-000700080009", "02-FA-44-00-00-0a", "ffffffffffff", "To be filled by O.E.M.", "0-0", "") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for kind, machine := range map[string]func(string) string{"UUID": MachineUUID, "MAC": MachineMAC, "serial": MachineSerial} {
			got := machine(s)
			if got == "" {
				continue
			}
			if again := machine(got); again != got {
				t.Errorf("%s: %q of %q becomes %q", kind, got, s, again)
			}
			if Placeholder(got) {
				t.Errorf("%s: %q of %q is a placeholder", kind, got, s)
			}
		}
		octets, ok := MachineUUIDOctets(s)
		if uuid := MachineUUID(s); ok != (uuid != "") {
			t.Errorf("UUID %q: octets %t, text %q", s, ok, uuid)
		} else if same, _ := UUIDOctets(uuid); ok && same != octets {
			t.Errorf("UUID %q: octets %x, of its canonical form %x", s, octets, same)
		}
		mac, ok := MachineMACOctets(s)
		if text := MachineMAC(s); ok != (text != "") {
			t.Errorf("MAC %q: octets %t, text %q", s, ok, text)
		} else if same, _ := MACOctets(text); ok && same != mac {
			t.Errorf("MAC %q: octets %x, of its canonical form %x", s, mac, same)
		}
	})
}
