package nvram

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"strings"
	"unicode/utf16"
)

// Variables are what a person sets in the menu of a firmware, or a BMC over Redfish.
type Variables struct {
	// BootURL is a boot option of the firmware, and the only one in its boot order; empty: what DHCP names.
	BootURL string
	// Trusted are the authorities, PEM, of servers that it speaks TLS with; nil: those that it has.
	Trusted []byte
}

// Vendor GUIDs: UEFI 2.10 §3.3, and that of EDK II for TlsCaCertificate.
var (
	globalVariable   = guid("8be4df61-93ca-11d2-aa0d-00e098032b8c")
	tlsCACertificate = guid("fd2340d0-3dab-4349-a6c7-3b4f12b48eae")
	certX509         = guid("a5c059a1-94e4-4aa7-87b5-ab155c2bf072")
)

// Attributes of variables (UEFI 2.10 §8.2).
const (
	nonVolatile = 1
	bootService = 2
	runtime     = 4
)

// A record of EDK II's variable store (AUTHENTICATED_VARIABLE_HEADER).
const (
	startID    = 0x55aa
	added      = 0x3f
	deleted    = 0xfd // is ANDed to the state
	headerSize = 60
	nameSizeAt = 36
	dataSizeAt = 40
	vendorAt   = 44
	erased     = 0xff // what flash is before something is written
	storeSize  = 28   // of the store's own header
	lengthAt   = 48   // of the header of the firmware volume
)

var errNoStore = errors.New("not a store of EDK II's variables")

// WriteTo puts the variables into a store.
func (v Variables) WriteTo(store []byte) error {
	if len(store) < lengthAt+2 {
		return errNoStore
	}
	at := int(binary.LittleEndian.Uint16(store[lengthAt:])) + storeSize
	var records bytes.Buffer
	var replaced []key
	add := func(vendor [16]byte, name string, attributes uint32, data []byte) {
		records.Write(record(vendor, name, attributes, data))
		replaced = append(replaced, key{vendor, string(wide(name))})
	}
	if v.BootURL != "" {
		add(globalVariable, "Boot0000", nonVolatile|bootService|runtime, loadOption(v.BootURL))
		add(globalVariable, "BootOrder", nonVolatile|bootService|runtime, []byte{0, 0})
	}
	if v.Trusted != nil {
		add(tlsCACertificate, "TlsCaCertificate", nonVolatile|bootService, signatureLists(v.Trusted))
	}
	end, err := remove(store, at, replaced)
	if err != nil {
		return err
	}
	if end+records.Len() > len(store) {
		return errors.New("the variable store is full")
	}
	for _, b := range store[end : end+records.Len()] {
		if b != erased {
			return errNoStore
		}
	}
	copy(store[end:], records.Bytes())
	return nil
}

// key names a variable.
type key struct {
	vendor [16]byte
	name   string // as it is stored
}

// remove marks those variables deleted, and returns where the records end.
func remove(store []byte, at int, names []key) (end int, err error) {
	for at+headerSize <= len(store) && binary.LittleEndian.Uint16(store[at:]) == startID {
		name, data := int(binary.LittleEndian.Uint32(store[at+nameSizeAt:])), int(binary.LittleEndian.Uint32(store[at+dataSizeAt:]))
		behind := at + headerSize + name + data
		if name < 0 || data < 0 || name > len(store) || data > len(store) || behind > len(store) {
			return 0, errNoStore
		}
		own := key{[16]byte(store[at+vendorAt:]), string(store[at+headerSize : at+headerSize+name])}
		for _, k := range names {
			if k == own {
				store[at+2] &= deleted
			}
		}
		at = (behind + 3) &^ 3
	}
	if at > len(store) {
		return 0, errNoStore
	}
	return at, nil
}

// record is a variable that is not authenticated: it has no counter, time or key.
func record(vendor [16]byte, name string, attributes uint32, data []byte) []byte {
	text := wide(name)
	var b bytes.Buffer
	le(&b, uint16(startID), uint8(added), uint8(0), attributes, uint64(0), [16]byte{}, uint32(0), uint32(len(text)), uint32(len(data)))
	b.Write(vendor[:])
	b.Write(text)
	b.Write(data)
	for b.Len()%4 != 0 {
		b.WriteByte(erased)
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
func signatureLists(bundle []byte) []byte {
	const header, owner = 28, 16
	var b bytes.Buffer
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		b.Write(certX509[:])
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

// guid reads one of the constants above. The first three groups are in little endian (UEFI 2.10, appendix A).
func guid(text string) [16]byte {
	b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil {
		panic(err)
	}
	b[0], b[1], b[2], b[3] = b[3], b[2], b[1], b[0]
	b[4], b[5], b[6], b[7] = b[5], b[4], b[7], b[6]
	return [16]byte(b)
}
