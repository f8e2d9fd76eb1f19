package dhcp

import (
	"fmt"
	"strconv"
	"strings"
)

// Class is what a machine announces itself as (DHCPv4 option 60, DHCPv6 option 16).
type Class uint8

const (
	// OtherClass is everything that does not boot from the network.
	OtherClass Class = iota
	// PXEClass is firmware that boots over TFTP, and iPXE (PXE 2.1 §2.2.1).
	PXEClass
	// HTTPClass is firmware that boots over HTTP (UEFI 2.10 §24.7.3.1).
	HTTPClass
)

// What vendor classes begin with, and what servers answer in them.
const (
	PXEClient  = "PXEClient"
	HTTPClient = "HTTPClient"
)

// ClassOf reads a vendor class.
func ClassOf(vendor string) Class {
	switch {
	case strings.HasPrefix(vendor, PXEClient):
		return PXEClass
	case strings.HasPrefix(vendor, HTTPClient):
		return HTTPClass
	}
	return OtherClass
}

func (c Class) String() string {
	switch c {
	case PXEClass:
		return PXEClient
	case HTTPClass:
		return HTTPClient
	}
	return ""
}

// Arch is a processor architecture with its firmware, as IANA numbers them ("Processor Architecture Types", RFC 5970 §3.3).
type Arch uint16

// The architectures that are known by name.
const (
	BIOS      Arch = 0
	IA32      Arch = 6
	X64       Arch = 7
	X64Old    Arch = 9 // firmware sends it where 7 is meant (RFC 4578, erratum 4625)
	ARM32     Arch = 10
	ARM64     Arch = 11
	IA32HTTP  Arch = 15
	X64HTTP   Arch = 16
	ARM32HTTP Arch = 18
	ARM64HTTP Arch = 19
	BIOSHTTP  Arch = 20
	RISCV64   Arch = 27
	RISCVHTTP Arch = 28

	// NoArch is that of a machine that does not say.
	NoArch Arch = 0xffff
)

// archs are the names of Farrier's own, which are also those of the folders of boot programs.
var archs = map[Arch]string{
	BIOS: "bios", IA32: "i386", X64: "x86_64", X64Old: "x86_64", ARM32: "arm32", ARM64: "arm64",
	IA32HTTP: "i386", X64HTTP: "x86_64", ARM32HTTP: "arm32", ARM64HTTP: "arm64", BIOSHTTP: "bios", RISCV64: "riscv64", RISCVHTTP: "riscv64",
}

// Known reports whether a machine of this architecture can be told anything.
func (a Arch) Known() bool {
	_, known := archs[a]
	return known
}

// String is the name of the architecture, or its number.
func (a Arch) String() string {
	if name, known := archs[a]; known {
		return name
	}
	if a == NoArch {
		return ""
	}
	return fmt.Sprintf("architecture %d", uint16(a))
}

// ArchOf is the first architecture of a list that is known; where none is, the one that the vendor class names
// ("PXEClient:Arch:00007:UNDI:003000"), and where that names none, the first of the list, by its number.
func ArchOf(listed []uint16, vendor string) Arch {
	for _, number := range listed {
		if a := Arch(number); a.Known() {
			return a
		}
	}
	if _, rest, found := strings.Cut(vendor, ":Arch:"); found {
		digits, _, _ := strings.Cut(rest, ":")
		if number, err := strconv.ParseUint(digits, 10, 16); err == nil {
			return Arch(number)
		}
	}
	if len(listed) > 0 {
		return Arch(listed[0])
	}
	return NoArch
}

// Client is what a machine says of itself in one packet, whichever the version of IP.
type Client struct {
	// MAC and UUID are canonical; empty: it does not say, or says a placeholder.
	MAC, UUID string
	Class     Class
	Arch      Arch
	// IPXE says that it is iPXE that asks, and no longer the firmware.
	IPXE bool
	// Host and Vendor are what it calls itself and what it is, in its own words, as Text leaves them; empty: it does not say.
	Host, Vendor string
	// IPv6 says that it asked over IPv6, and is to be given URLs that it can reach over it.
	IPv6 bool
}

// Boots reports whether it boots from the network.
func (c Client) Boots() bool { return c.Class != OtherClass }

const ipxeClass = "iPXE"

// IsIPXE reports whether a user class is iPXE's: its name alone, as iPXE writes it over IPv4, or one of a list of strings with the length of
// each before it, in one octet (RFC 3004 §4).
func IsIPXE(userClass []byte) bool {
	if string(userClass) == ipxeClass {
		return true
	}
	for len(userClass) > 0 {
		n := int(userClass[0])
		if n == 0 || n >= len(userClass) {
			return false
		}
		if string(userClass[1:1+n]) == ipxeClass {
			return true
		}
		userClass = userClass[1+n:]
	}
	return false
}

// maxText is how many characters of a client's words anybody sees.
const maxText = 64

// Text is what a client says in words, fit for a log and an event: printable ASCII, cut.
func Text(b []byte) string {
	words := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, string(b[:min(len(b), maxText)]))
	return strings.TrimSpace(words)
}

// UUIDOf decodes a machine identifier as it is on the wire: the first three fields are little-endian (PXE 2.1 §2.2.1; SMBIOS 3.x §7.2.1).
func UUIDOf(wire [16]byte) string {
	w := wire
	w[0], w[1], w[2], w[3] = w[3], w[2], w[1], w[0]
	w[4], w[5] = w[5], w[4]
	w[6], w[7] = w[7], w[6]
	return fmt.Sprintf("%x-%x-%x-%x-%x", w[0:4], w[4:6], w[6:8], w[8:10], w[10:16])
}
