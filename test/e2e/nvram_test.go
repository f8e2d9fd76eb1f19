package e2e

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"
	"unicode/utf16"
)

// nvram are the variables that a machine's firmware finds on its first start: what a person sets in its menu, or a BMC over
// Redfish.
type nvram struct {
	// bootURL is a boot option of the firmware, and the only one; empty: what DHCP names.
	bootURL string
	// trusted are the authorities, PEM, of servers that it speaks TLS with.
	trusted []byte
}

// Vendor GUIDs: UEFI 2.10 §3.3, and that of EDK II for TlsCaCertificate.
const (
	globalVariable   = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
	tlsCACertificate = "fd2340d0-3dab-4349-a6c7-3b4f12b48eae"
	certX509         = "a5c059a1-94e4-4aa7-87b5-ab155c2bf072"
)

// Attributes of variables (UEFI 2.10 §8.2).
const (
	nonVolatile = 1
	bootService = 2
	runtime     = 4
)

// writeTo puts the variables into a variable store in which there are none yet.
func (n nvram) writeTo(t *testing.T, store []byte) {
	t.Helper()
	var records bytes.Buffer
	if n.bootURL != "" {
		records.Write(variable(t, globalVariable, "Boot0000", nonVolatile|bootService|runtime, loadOption(n.bootURL)))
		records.Write(variable(t, globalVariable, "BootOrder", nonVolatile|bootService|runtime, []byte{0, 0}))
	}
	if n.trusted != nil {
		records.Write(variable(t, tlsCACertificate, "TlsCaCertificate", nonVolatile|bootService, signatureLists(t, n.trusted)))
	}
	// The header of the firmware volume tells its length at byte 48 (PI 1.8 §3.2.1), that of the store is 28 bytes long.
	at := int(binary.LittleEndian.Uint16(store[48:])) + 28
	for _, b := range store[at : at+records.Len()] {
		if b != 0xff {
			t.Fatal("the variable store is not empty")
		}
	}
	copy(store[at:], records.Bytes())
}

// variable is a record of EDK II's variable store, AUTHENTICATED_VARIABLE_HEADER with name and data.
func variable(t *testing.T, vendor, name string, attributes uint32, data []byte) []byte {
	t.Helper()
	text := wide(name)
	var b bytes.Buffer
	le(&b, uint16(0x55aa), uint8(0x3f), uint8(0), attributes)
	le(&b, uint64(0), [16]byte{}, uint32(0)) // no counter, time or key: it is not authenticated
	le(&b, uint32(len(text)), uint32(len(data)))
	b.Write(guid(t, vendor))
	b.Write(text)
	b.Write(data)
	for b.Len()%4 != 0 {
		b.WriteByte(0xff)
	}
	return b.Bytes()
}

// loadOption is an EFI_LOAD_OPTION (UEFI 2.10 §3.1.3) whose device path is a URI alone: any card, with an address of DHCP (§3.1.2).
func loadOption(url string) []byte {
	var path bytes.Buffer
	le(&path, uint8(3), uint8(24), uint16(4+len(url)))
	path.WriteString(url)
	le(&path, uint8(0x7f), uint8(0xff), uint16(4))
	const active = 1
	var b bytes.Buffer
	le(&b, uint32(active), uint16(path.Len()))
	b.Write(wide("Farrier"))
	b.Write(path.Bytes())
	return b.Bytes()
}

// signatureLists are EFI_SIGNATURE_LISTs (UEFI 2.10 §32.4.1), one for each certificate, for each has its own size.
func signatureLists(t *testing.T, bundle []byte) []byte {
	t.Helper()
	const header, owner = 28, 16
	var b bytes.Buffer
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		b.Write(guid(t, certX509))
		le(&b, uint32(header+owner+len(block.Bytes)), uint32(0), uint32(owner+len(block.Bytes)), [owner]byte{})
		b.Write(block.Bytes)
	}
	return b.Bytes()
}

func le(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		_ = binary.Write(b, binary.LittleEndian, v) // a buffer takes everything of a fixed size
	}
}

// wide is a string as UEFI has them: UCS-2 with a NUL at its end.
func wide(s string) []byte {
	var b bytes.Buffer
	le(&b, utf16.Encode([]rune(s+"\x00")))
	return b.Bytes()
}

// guid has the first three groups in little endian (UEFI 2.10, appendix A).
func guid(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(b) != 16 {
		t.Fatalf("%q is no GUID", text)
	}
	b[0], b[1], b[2], b[3] = b[3], b[2], b[1], b[0]
	b[4], b[5], b[6], b[7] = b[5], b[4], b[7], b[6]
	return b
}
