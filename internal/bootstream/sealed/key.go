package sealed

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/farrier-dev/farrier/internal/host/boundedfile"
)

const (
	// minKey is as long as what is derived from it.
	minKey = 32
	// maxKeyFile is more than any key needs.
	maxKeyFile = 4 << 10
	// minDistinct is how many different bytes a key has. 32 random bytes have 30 on average, and fewer than 16 practically never.
	minDistinct = 16
)

// Key is the secret that the keys of files are derived from. It prints as [redacted].
type Key struct{ secret []byte }

func (Key) String() string   { return "[redacted]" }
func (Key) GoString() string { return "[redacted]" }

// ReadKey reads a key file. It holds at least 32 random bytes: as they are, in hexadecimal digits or in base64. Other text is refused, as it is
// hardly random. Others than its owner, or a group that root has let read it, must not have access to the file.
func ReadKey(path string) (Key, error) {
	content, err := boundedfile.ReadKey(path, maxKeyFile)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", KeyFlag, err)
	}
	key, err := ParseKey(content)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %s: %w; make one with: openssl rand -hex 32", KeyFlag, path, err)
	}
	return key, nil
}

// ParseKey reads the content of a key file.
func ParseKey(content []byte) (Key, error) {
	if len(content) > maxKeyFile {
		return Key{}, fmt.Errorf("longer than %d bytes", maxKeyFile)
	}
	secret := content
	if text := bytes.TrimSpace(content); printable(text) {
		var ok bool
		if secret, ok = decode(string(text)); !ok {
			return Key{}, errors.New("text that is neither hexadecimal nor base64")
		}
	}
	distinct := map[byte]bool{}
	for _, b := range secret {
		distinct[b] = true
	}
	switch {
	case len(secret) < minKey:
		return Key{}, fmt.Errorf("a key of %d bytes, want at least %d", len(secret), minKey)
	case len(distinct) < minDistinct:
		return Key{}, fmt.Errorf("only %d different bytes: not random", len(distinct))
	}
	return Key{secret: bytes.Clone(secret)}, nil
}

func printable(text []byte) bool {
	for _, b := range text {
		if (b < ' ' || b > '~') && b != '\n' && b != '\r' && b != '\t' {
			return false
		}
	}
	return true
}

// decode tries hexadecimal first: its digits are base64 as well, of other bytes.
func decode(text string) ([]byte, bool) {
	if secret, err := hex.DecodeString(text); err == nil {
		return secret, true
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if secret, err := encoding.DecodeString(text); err == nil { // line breaks are ignored
			return secret, true
		}
	}
	return nil, false
}
