package v4

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// asked is a packet as firmware sends it, written down field by field (RFC 2131 §2), by no code that the product has.
type asked struct {
	flags          uint16
	ciaddr, giaddr [4]byte
	mac            [6]byte
	options        []option
}

type option struct {
	code byte
	data string
}

var testMAC = [6]byte{0x52, 0x54, 0, 0x12, 0x34, 0x56}

const (
	testUUID     = "00112233-4455-6677-8899-aabbccddeeff"
	wireUUID     = "\x00\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
	discoverType = "\x01"
	requestType  = "\x03"
)

func (a asked) bytes() []byte {
	b := []byte{1, 1, 6, 0, 0xca, 0xfe, 0, 1, 0, 4}
	b = binary.BigEndian.AppendUint16(b, a.flags)
	b = append(b, a.ciaddr[:]...)
	b = append(b, make([]byte, 8)...) // yiaddr, siaddr
	b = append(b, a.giaddr[:]...)
	b = append(b, a.mac[:]...)
	b = append(b, make([]byte, 10+64+128)...)
	b = append(b, 99, 130, 83, 99)
	for _, o := range a.options {
		b = append(b, o.code, byte(len(o.data)))
		b = append(b, o.data...)
	}
	return append(b, 255)
}

// with is a with more options, or others.
func (a asked) with(more ...option) asked {
	a.options = slices.Clone(a.options)
	for _, o := range more {
		if i := slices.IndexFunc(a.options, func(had option) bool { return had.code == o.code }); i >= 0 {
			a.options[i] = o
			continue
		}
		a.options = append(a.options, o)
	}
	return a
}

func client(options ...option) asked {
	return asked{mac: testMAC, options: append([]option{{53, discoverType}, {57, "\x05\xc0"}, {55, "\x01\x03\x06\x0c\x0f\x11\x2b\x3c\x42\x43\xaf"}}, options...)}
}

// clients are the firmware of the table in docs/dhcp.md, and others.
var clients = map[string]asked{
	"ipxe-bios":        client(option{60, "PXEClient:Arch:00000:UNDI:002001"}, option{93, "\x00\x00"}, option{94, "\x01\x02\x01"}, option{77, "iPXE"}, option{97, wireUUID}, option{175, "\xb1\x05\x01\x1a\xf4\x10\x00"}),
	"bios-pxe":         client(option{60, "PXEClient:Arch:00000:UNDI:002001"}, option{93, "\x00\x00"}, option{94, "\x01\x02\x01"}, option{97, wireUUID}),
	"ovmf-pxe":         client(option{60, "PXEClient:Arch:00007:UNDI:003000"}, option{93, "\x00\x07"}, option{94, "\x01\x03\x00"}, option{97, wireUUID}),
	"ovmf-http":        client(option{60, "HTTPClient:Arch:00016:UNDI:003000"}, option{93, "\x00\x10"}, option{94, "\x01\x03\x00"}, option{97, wireUUID}),
	"ipxe-efi":         client(option{60, "PXEClient:Arch:00007:UNDI:003010"}, option{93, "\x00\x07"}, option{94, "\x01\x03\x0a"}, option{77, "iPXE"}, option{97, wireUUID}),
	"arm64-pxe":        client(option{60, "PXEClient:Arch:00011:UNDI:003000"}, option{93, "\x00\x0b"}, option{97, wireUUID}),
	"arm64-http":       client(option{60, "HTTPClient:Arch:00019:UNDI:003000"}, option{93, "\x00\x13"}, option{97, wireUUID}),
	"operating-system": client(option{61, "\xff\x00\x00\x00\x01duid"}),
}

// reading is a packet as text: what is not zero, and every option in the order in which it is sent. It is written anew from RFC 2131 too.
func reading(b []byte) string {
	var out strings.Builder
	ip := func(name string, at int) {
		if a := b[at : at+4]; string(a) != "\x00\x00\x00\x00" {
			fmt.Fprintf(&out, "%s %d.%d.%d.%d\n", name, a[0], a[1], a[2], a[3])
		}
	}
	fmt.Fprintf(&out, "op %d htype %d hlen %d xid %x flags %x\n", b[0], b[1], b[2], b[4:8], b[10:12])
	ip("ciaddr", 12)
	ip("yiaddr", 16)
	ip("siaddr", 20)
	ip("giaddr", 24)
	fmt.Fprintf(&out, "chaddr %x\n", b[28:28+b[2]])
	if file := strings.TrimRight(string(b[108:236]), "\x00"); file != "" {
		fmt.Fprintf(&out, "file %q\n", file)
	}
	if string(b[236:240]) != "\x63\x82\x53\x63" {
		out.WriteString("no magic cookie\n")
	}
	for rest := b[240:]; len(rest) > 0; {
		code := rest[0]
		if code == 255 {
			if strings.Trim(string(rest[1:]), "\x00") != "" {
				out.WriteString("more after the end\n")
			}
			break
		}
		if code == 0 {
			rest = rest[1:]
			continue
		}
		n := int(rest[1])
		fmt.Fprintf(&out, "option %d: %s\n", code, shown(rest[2:2+n]))
		rest = rest[2+n:]
	}
	return out.String()
}

// shown is text where it is text alone.
func shown(data []byte) string {
	for _, c := range data {
		if c < 0x20 || c > 0x7e {
			return hex.EncodeToString(data)
		}
	}
	if len(data) < 5 {
		return hex.EncodeToString(data)
	}
	return fmt.Sprintf("%q", data)
}
