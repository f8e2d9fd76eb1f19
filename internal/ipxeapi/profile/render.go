package profile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// Render writes the script of a machine. urls makes the URL of a config from its ID.
func (p *Profile) Render(subject assignment.Subject, urls func(id string) string) ([]byte, error) {
	return p.appendScript(context.Background(), nil, subject, func(dst []byte, id string) []byte { return append(dst, urls(id)...) })
}

// execute appends a script that decides, or calls functions.
func (p *Profile) execute(ctx context.Context, dst []byte, subject assignment.Subject, urls func(id string) string) ([]byte, error) {
	r := rendering{
		ctx: ctx, out: dst, start: len(dst), url: urls,
		label: func(key string) string { return harmless(subject.Get(key)) },
	}
	if err := r.run(p.statements); err != nil {
		return nil, err
	}
	return r.out, nil
}

// Query is the labels of a machine as a URL carries them: the UUID first, so that a log tells
// at a glance whose it is, then in order.
func Query(subject assignment.Subject) string { return string(appendQuery(nil, subject)) }

func appendQuery(dst []byte, subject assignment.Subject) []byte {
	start := len(dst)
	if uuid := subject.Get(assignment.KeyUUID); uuid != "" {
		dst = appendLabel(dst, assignment.KeyUUID, uuid)
	}
	for key, value := range subject.All() {
		if key == assignment.KeyUUID {
			continue
		}
		if len(dst) > start {
			dst = append(dst, '&')
		}
		dst = appendLabel(dst, key, value)
	}
	return dst
}

func appendLabel(dst []byte, key, value string) []byte {
	dst = append(appendEscaped(dst, key), '=')
	return appendEscaped(dst, value)
}

// alphanumeric are the letters and digits of ASCII.
const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

var (
	// unescaped are the unreserved characters of RFC 3986 §2.3, and of the others those that a query may hold and that iPXE and
	// url.ParseQuery read alike. A space is never a plus, which iPXE takes for one.
	unescaped = setOf(alphanumeric + "-._~:")
	// meaningless are the characters that mean nothing to iPXE.
	meaningless = setOf(alphanumeric + " ._:/@+,=-")
)

// set is a set of bytes.
type set [256]bool

func setOf(bytes string) *set {
	var s set
	for i := range len(bytes) {
		s[bytes[i]] = true
	}
	return &s
}

// first is where in a text the first byte stands that is not in the set; the length of the text: all are.
func (s *set) first(text string) int {
	for i := range len(text) {
		if !s[text[i]] {
			return i
		}
	}
	return len(text)
}

// appendEscaped appends a text as a query holds it.
func appendEscaped(dst []byte, text string) []byte {
	const digits = "0123456789ABCDEF"
	for {
		n := unescaped.first(text)
		dst = append(dst, text[:n]...)
		if n == len(text) {
			return dst
		}
		dst = append(dst, '%', digits[text[n]>>4], digits[text[n]&0xf])
		text = text[n+1:]
	}
}

// harmless replaces everything in a machine's label that means something to iPXE: expansion
// (${…}), operators (|| && ;), quotes and escapes. Firmware says these things, or somebody who
// pretends to be it, and a script must stay its author's.
func harmless(value string) string {
	if meaningless.first(value) == len(value) {
		return value
	}
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && meaningless[r] {
			return r
		}
		return '_'
	}, value)
}

// quote makes one word of a value for iPXE.
func quote(value string) string { return `"` + harmless(value) + `"` }

// served are header values of a config, made once for all who ask for it.
type served struct{ mediaType, etag, length []string }

// etag is a strong validator (RFC 9110 §8.8.3).
func (c Content) etag() string {
	sum := sha256.Sum256(c.Bytes)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// mediaType is what a config is served as. Ignition is JSON, and clients look.
func (c Content) mediaType() string {
	if c.Type != "" {
		return c.Type
	}
	if json.Valid(c.Bytes) && strings.HasPrefix(strings.TrimSpace(string(c.Bytes)), "{") {
		return "application/json"
	}
	return "text/plain; charset=utf-8"
}
