package ipxe

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Settings are what ${name} can stand for, by name, scope included: "mac" and
// "net0/mac" are two of them.
type Settings map[string]Value

// Value is the content of a setting and the type it is shown in when no other
// is asked for.
type Value struct {
	raw  []byte
	kind string
}

// The setting types that are understood.
const (
	kindString  = "string"
	kindURI     = "uristring"
	kindHex     = "hex"
	kindHexHyp  = "hexhyp"
	kindHexRaw  = "hexraw"
	kindBase64  = "base64"
	kindUUID    = "uuid"
	kindIPv4    = "ipv4"
	kindIP      = "ip"
	kindIPv6    = "ipv6"
	kindInt8    = "int8"
	kindInt16   = "int16"
	kindInt32   = "int32"
	kindUint8   = "uint8"
	kindUint16  = "uint16"
	kindUint32  = "uint32"
	integerSize = 4
)

// String is a setting of text.
func String(s string) Value { return Value{raw: []byte(s), kind: kindString} }

// MAC is a hardware address, shown as octets with colons.
func MAC(octets []byte) Value { return Value{raw: octets, kind: kindHex} }

// UUID is an SMBIOS UUID, shown in lower case with hyphens.
func UUID(octets [16]byte) Value { return Value{raw: octets[:], kind: kindUUID} }

// IPv4 is an address.
func IPv4(a netip.Addr) Value { return Value{raw: a.AsSlice(), kind: kindIPv4} }

var errType = errors.New("unknown setting type")

// splitName separates "scope/name:type".
func splitName(s string) (name, kind string) {
	name, kind, _ = strings.Cut(s, ":")
	return name, kind
}

// expand replaces every ${…}. The one that closes first is replaced first, and
// what it gave is looked at again, so settings can be nested. A setting that is
// not set gives nothing.
func (s Settings) expand(line string) (string, error) {
	for range maxExpansions {
		end := -1
		start := -1
		for i := range len(line) {
			if strings.HasPrefix(line[i:], "${") {
				start = i
			}
			if start >= 0 && line[i] == '}' {
				end = i
				break
			}
		}
		if end < 0 {
			return line, nil
		}
		line = line[:start] + s.format(line[start+2:end]) + line[end+1:]
		if len(line) > maxLine {
			return "", fmt.Errorf("line longer than %d bytes after expansion", maxLine)
		}
	}
	return "", fmt.Errorf("more than %d expansions in one line", maxExpansions)
}

// format shows one setting; a type that does not fit it shows nothing.
func (s Settings) format(reference string) string {
	name, kind := splitName(reference)
	v, ok := s[name]
	if !ok {
		return ""
	}
	if kind == "" {
		kind = v.kind
	}
	return Value{raw: v.raw, kind: kind}.String()
}

// String shows a value in its type.
func (v Value) String() string {
	switch v.kind {
	case kindString:
		return string(v.raw)
	case kindURI:
		return escape(string(v.raw))
	case kindHex:
		return octets(v.raw, ":")
	case kindHexHyp:
		return octets(v.raw, "-")
	case kindHexRaw:
		return octets(v.raw, "")
	case kindBase64:
		return base64.StdEncoding.EncodeToString(v.raw)
	case kindUUID:
		if len(v.raw) != 16 {
			return ""
		}
		h := hex.EncodeToString(v.raw)
		return h[0:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:32]
	case kindIPv4, kindIP, kindIPv6:
		a, ok := netip.AddrFromSlice(v.raw)
		if !ok {
			return ""
		}
		return a.String()
	case kindInt8, kindInt16, kindInt32:
		return strconv.FormatInt(int64(v.number()), 10)
	case kindUint8, kindUint16, kindUint32:
		return fmt.Sprintf("0x%0*x", 2*sizes[v.kind], uint32(v.number()))
	}
	return ""
}

var sizes = map[string]int{kindInt8: 1, kindInt16: 2, kindInt32: 4, kindUint8: 1, kindUint16: 2, kindUint32: 4}

// number reads the last four octets as a signed integer, as iPXE does with any
// setting that is used as one: the text "1" is 49.
func (v Value) number() int32 {
	raw := v.raw
	if len(raw) > integerSize {
		raw = raw[len(raw)-integerSize:]
	}
	var b [integerSize]byte
	copy(b[integerSize-len(raw):], raw)
	return int32(binary.BigEndian.Uint32(b[:]))
}

func integer(n int32, kind string) Value {
	b := binary.BigEndian.AppendUint32(nil, uint32(n))
	return Value{raw: b[integerSize-sizes[kind]:], kind: kind}
}

// set stores text under "name" or "name:type". Nothing stored is not set.
func (s Settings) set(reference, text string) error {
	name, kind := splitName(reference)
	if kind == "" {
		kind = kindString
	}
	v, err := parseValue(text, kind)
	if err != nil {
		return fmt.Errorf("%s: %w", reference, err)
	}
	if len(v.raw) == 0 {
		delete(s, name)
		return nil
	}
	s[name] = v
	return nil
}

func parseValue(text, kind string) (Value, error) {
	switch kind {
	case kindString:
		return Value{raw: []byte(text), kind: kind}, nil
	case kindURI:
		plain, err := url.PathUnescape(text)
		return Value{raw: []byte(plain), kind: kind}, err
	case kindHex, kindHexHyp, kindHexRaw, kindUUID:
		raw, err := hex.DecodeString(strings.NewReplacer(":", "", "-", "").Replace(text))
		return Value{raw: raw, kind: kind}, err
	case kindBase64:
		raw, err := base64.StdEncoding.DecodeString(text)
		return Value{raw: raw, kind: kind}, err
	case kindIPv4, kindIP, kindIPv6:
		a, err := netip.ParseAddr(text)
		return Value{raw: a.AsSlice(), kind: kind}, err
	case kindInt8, kindInt16, kindInt32, kindUint8, kindUint16, kindUint32:
		n, err := strconv.ParseInt(text, 0, 64)
		return integer(int32(n), kind), err
	}
	return Value{}, fmt.Errorf("%w %q", errType, kind)
}

func octets(b []byte, separator string) string {
	parts := make([]string, len(b))
	for i := range b {
		parts[i] = hex.EncodeToString(b[i : i+1])
	}
	return strings.Join(parts, separator)
}

// escape keeps the unreserved characters of RFC 3986 §2.3 alone.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}
