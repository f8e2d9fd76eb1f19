package dhcp

import "testing"

const (
	fileURL   = "http://192.0.2.1:8082/httpboot/r/i/sha256-00.efi"
	scriptURL = "http://192.0.2.1:8082/ipxe"
)

var served = Boot{Standing: Known, FileURL: fileURL, ScriptURL: scriptURL}

func TestDecide(t *testing.T) {
	programs := func(a Arch) string {
		switch a {
		case BIOS:
			return "undionly.kpxe"
		case X64, X64Old:
			return "snponly.efi"
		}
		return ""
	}
	unknown, unsynced, empty := served, served, Boot{Standing: Known}
	unknown.Standing, unsynced.Standing = Unknown, Unsynced
	for name, c := range map[string]struct {
		client Client
		boot   Boot
		all    bool
		want   Answer
	}{
		"an operating system":                  {Client{Arch: NoArch}, served, true, Answer{Nothing, ReasonNoNetworkBoot, ""}},
		"an operating system, not synced":      {Client{Arch: NoArch}, unsynced, true, Answer{Nothing, ReasonNoNetworkBoot, ""}},
		"BIOS":                                 {Client{Class: PXEClass, Arch: BIOS}, served, false, Answer{Program, ReasonServed, "undionly.kpxe"}},
		"UEFI":                                 {Client{Class: PXEClass, Arch: X64}, served, false, Answer{Program, ReasonServed, "snponly.efi"}},
		"UEFI that says 9":                     {Client{Class: PXEClass, Arch: X64Old}, served, false, Answer{Program, ReasonServed, "snponly.efi"}},
		"ARM64, for which there is no program": {Client{Class: PXEClass, Arch: ARM64}, served, false, Answer{Nothing, ReasonNoProgram, ""}},
		"an architecture that nobody knows":    {Client{Class: PXEClass, Arch: 4711}, served, false, Answer{Nothing, ReasonNoArch, ""}},
		"no architecture":                      {Client{Class: PXEClass, Arch: NoArch}, served, false, Answer{Nothing, ReasonNoArch, ""}},
		"iPXE":                                 {Client{Class: PXEClass, Arch: BIOS, IPXE: true}, served, false, Answer{Script, ReasonServed, scriptURL}},
		"iPXE of any architecture":             {Client{Class: PXEClass, Arch: NoArch, IPXE: true}, served, false, Answer{Script, ReasonServed, scriptURL}},
		"iPXE without a boot URL":              {Client{Class: PXEClass, IPXE: true}, empty, false, Answer{Nothing, ReasonNoBootURL, ""}},
		"UEFI HTTP":                            {Client{Class: HTTPClass, Arch: X64HTTP}, served, false, Answer{File, ReasonServed, fileURL}},
		"UEFI HTTP of ARM64":                   {Client{Class: HTTPClass, Arch: ARM64HTTP}, served, false, Answer{File, ReasonServed, fileURL}},
		"UEFI HTTP, but there is no file":      {Client{Class: HTTPClass, Arch: X64HTTP}, empty, false, Answer{Nothing, ReasonNoFile, ""}},
		"a stranger is ignored":                {Client{Class: PXEClass, Arch: BIOS}, unknown, false, Answer{Nothing, ReasonUnknown, ""}},
		"a stranger's iPXE is ignored":         {Client{Class: PXEClass, IPXE: true}, unknown, false, Answer{Nothing, ReasonUnknown, ""}},
		"a stranger over HTTP is ignored":      {Client{Class: HTTPClass, Arch: X64HTTP}, unknown, false, Answer{Nothing, ReasonUnknown, ""}},
		"a stranger boots":                     {Client{Class: PXEClass, Arch: BIOS}, unknown, true, Answer{Program, ReasonServed, "undionly.kpxe"}},
		"a stranger boots over HTTP":           {Client{Class: HTTPClass, Arch: X64HTTP}, unknown, true, Answer{File, ReasonServed, fileURL}},
		"not synced: to be asked again":        {Client{Class: HTTPClass, Arch: X64HTTP}, unsynced, true, Answer{Wait, ReasonUnsynced, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Decide(c.client, c.boot, Policy{BootUnknown: c.all, Program: programs}); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestArchOf(t *testing.T) {
	for name, c := range map[string]struct {
		listed []uint16
		vendor string
		want   Arch
	}{
		"one":                       {[]uint16{7}, "PXEClient:Arch:00000:UNDI:002001", X64},
		"the first that is known":   {[]uint16{4711, 11, 7}, "", ARM64},
		"none known, but the class": {[]uint16{4711}, "PXEClient:Arch:00016:UNDI:003000", X64HTTP},
		"the class alone":           {nil, "PXEClient:Arch:00000:UNDI:002001", BIOS},
		"the class at its end":      {nil, "HTTPClient:Arch:00016", X64HTTP},
		"no number in the class":    {nil, "PXEClient:Arch:x:UNDI", NoArch},
		"a number that is too big":  {nil, "PXEClient:Arch:70000:", NoArch},
		"nothing":                   {nil, "PXEClient", NoArch},
		"only one that is unknown":  {[]uint16{4711}, "PXEClient", 4711},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ArchOf(c.listed, c.vendor); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestEveryKnownArchitectureHasPrograms(t *testing.T) {
	for a := range archs {
		if len(Programs(a)) == 0 {
			t.Errorf("%v (%d): no program is looked for", a, uint16(a))
		}
	}
	if got := Programs(4711); got != nil {
		t.Errorf("an unknown architecture: %v", got)
	}
}

func TestIsIPXE(t *testing.T) {
	for text, want := range map[string]bool{
		"iPXE": true, "\x04iPXE": true, "\x03abc\x04iPXE": true, "": false, "ipxe": false, "\x05iPXE": false, "\x04iPXE\x00": true, "\x00\x04iPXE": false, "gPXE": false, "\xff": false,
	} {
		if got := IsIPXE([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// The value is that of QEMU's -uuid: what iPXE prints, and Redfish reports.
func TestUUIDOf(t *testing.T) {
	wire := [16]byte{0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	if got, want := UUIDOf(wire), "00112233-4455-6677-8899-aabbccddeeff"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
