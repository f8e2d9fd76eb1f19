package profile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

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
	add := func(key, value string) {
		if len(dst) > start {
			dst = append(dst, '&')
		}
		dst = append(appendEscaped(dst, key), '=')
		dst = appendEscaped(dst, value)
	}
	if uuid := subject.Get(assignment.KeyUUID); uuid != "" {
		add(assignment.KeyUUID, uuid)
	}
	for key, value := range subject.All() {
		if key != assignment.KeyUUID {
			add(key, value)
		}
	}
	return dst
}

// appendEscaped leaves the unreserved characters of RFC 3986 §2.3, and of the others those that a query may hold and that
// iPXE and url.ParseQuery read alike. A space is never a plus, which iPXE takes for one.
func appendEscaped(dst []byte, text string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~:", c) >= 0 {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', digits[c>>4], digits[c&0xf])
		}
	}
	return dst
}

// harmless replaces everything in a machine's label that means something to iPXE: expansion
// (${…}), operators (|| && ;), quotes and escapes. Firmware says these things, or somebody who
// pretends to be it, and a script must stay its author's.
func harmless(value string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(" ._:/@+,=-", r):
			return r
		}
		return '_'
	}, value)
}

// quote makes one word of a value for iPXE.
func quote(value string) string { return `"` + harmless(value) + `"` }

// served are header values of a config, made once for all who ask for it.
type served struct{ mediaType, etag []string }

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
