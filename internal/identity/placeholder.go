package identity

import "strings"

// placeholderUUIDs are the system UUIDs that boards have whose UUID nobody has set. SMBIOS (DSP0134 3.7 §7.2.1) reserves all zeros and
// all ones; the others come from the vendors of firmware, who did not.
var placeholderUUIDs = octetsOf(
	"00000000-0000-0000-0000-000000000000",
	"ffffffff-ffff-ffff-ffff-ffffffffffff",
	"03000200-0400-0500-0006-000700080009", // AMI's default
	"00020003-0004-0005-0006-000700080009", // the same, by who takes the first three fields for big endian
	"fefefefe-fefe-fefe-fefe-fefefefefefe", // erased storage
	"12345678-1234-5678-90ab-cddeefaabbcc", // an example that shipped
	"78563412-3412-7856-90ab-cddeefaabbcc", // and in the other byte order
	"4c4c4544-0000-2010-8020-80c04f202020", // Dell, of a board without a service tag
	"4c4c4544-0020-2010-8020-a0c04f202020", // the same, of a tag of spaces
)

func octetsOf(uuids ...string) map[[16]byte]bool {
	all := map[[16]byte]bool{}
	for _, uuid := range uuids {
		octets, ok := UUIDOctets(uuid)
		if !ok {
			panic("identity: " + uuid)
		}
		all[octets] = true
	}
	return all
}

func placeholderUUID(s string) bool {
	octets, ok := UUIDOctets(s)
	return ok && placeholderUUIDs[octets]
}

// placeholderMAC reports whether a MAC address is that of an interface without one, or the broadcast address (IEEE 802).
func placeholderMAC(octets [6]byte) bool {
	return octets == [6]byte{} || octets == [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
}

// placeholderTexts are what vendors leave where a serial number, an asset tag or the like should be, in lower case (SMBIOS strings,
// DSP0134 §6.1.3; FRU areas of IPMI).
var placeholderTexts = map[string]bool{
	"to be filled by o.e.m.": true, "to be filled by o.e.m": true, "to be filled by oem": true, "o.e.m.": true, "oem": true,
	"default string": true, "default": true, "empty": true, "invalid": true, "none": true, "null": true, "undefined": true, "unknown": true,
	"n/a": true, "na": true, "not applicable": true, "not available": true, "not specified": true, "not provided": true, "not present": true,
	"unspecified": true, "<bad index>": true,
	"system serial number": true, "system product name": true, "system manufacturer": true, "serial number": true,
	"chassis serial number": true, "base board serial number": true, "baseboard serial number": true,
	"no asset tag": true, "no asset information": true, "asset tag": true, "asset-1234567890": true,
	"0123456789": true, "123456789": true, "1234567890": true, "12345678": true, "x.x": true, "xxxxxxxx": true,
}

// onlyFiller reports whether s has nothing but characters that a field without a value is filled with.
func onlyFiller(s string) bool {
	for i := range len(s) {
		if strings.IndexByte("0-_:.*? \t", s[i]) < 0 {
			return false
		}
	}
	return true
}

// Placeholder reports whether a text that should identify a machine, such as a serial number, identifies none: it is empty, consists of
// filler, is a text that vendors leave there, or a UUID or MAC address that is a placeholder.
func Placeholder(s string) bool {
	s = strings.TrimSpace(s)
	if onlyFiller(s) || placeholderText(s) {
		return true
	}
	if octets, ok := UUIDOctets(s); ok {
		return placeholderUUIDs[octets]
	}
	octets, ok := MACOctets(s)
	return ok && placeholderMAC(octets)
}

// placeholderText reports whether s is one of placeholderTexts, in whatever case, without allocating: boot servers ask it of each label
// of each request.
func placeholderText(s string) bool {
	var lower [32]byte // no text is longer
	if len(s) > len(lower) {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return placeholderTexts[string(lower[:len(s)])]
}
