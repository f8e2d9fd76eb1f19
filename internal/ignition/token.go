package ignition

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// KeySize is the size of a token key in bytes: that of the hash, which is
// what RFC 2104 §3 recommends.
const KeySize = sha256.Size

// tokenPurpose separates these tokens from whatever else the same key may be
// used for one day.
const tokenPurpose = "farrier boot attempt v1"

// contentPurpose does the same for fingerprints.
const contentPurpose = "farrier ignition content v1"

// NewKey returns a fresh random token key. It cannot fail: crypto/rand ends
// the program rather than return weak bytes.
func NewKey() []byte {
	key := make([]byte, KeySize)
	rand.Read(key)
	return key
}

// Token returns the token of one boot attempt of one server: an HMAC-SHA256
// (RFC 2104) in unpadded base64url (RFC 4648 §5), so that it needs no escaping
// in a URL, a script or a kernel command line.
//
// A key that is too short to keep a secret, or an attempt without an id, gives
// the empty token, which Equal never accepts.
func Token(key []byte, serverUID, attemptID string) string {
	if len(key) < KeySize || attemptID == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(derive(key, tokenPurpose, serverUID, attemptID))
}

// BMCToken is the token of an attempt that is given to the machine's BMC, in the URL that it boots, and to nobody else.
func BMCToken(key []byte, serverUID, attemptID string) string {
	return Token(key, serverUID, "bmc/"+attemptID)
}

// fingerprintSize is how much of the hash a fingerprint has, in bytes: enough
// that no two contents that a person writes are mistaken for each other.
const fingerprintSize = 16

// Fingerprint tells the contents of an ignition Secret apart, for one owner,
// without saying anything about them: it may be shown to people who must not
// read the Secret, and nobody without the key can try guesses against it. What
// is told apart is the Secret's text and not what it is translated to, which
// another version of Butane may write in another way.
//
// A key that is too short to keep a secret gives the empty fingerprint.
func Fingerprint(key []byte, ownerUID, format string, data []byte) string {
	if len(key) < KeySize {
		return ""
	}
	mac := derive(key, contentPurpose, ownerUID, strings.TrimSpace(format), string(data))
	return base64.RawURLEncoding.EncodeToString(mac[:fingerprintSize])
}

// derive is the HMAC-SHA256 (RFC 2104) of some parts. Every part is preceded by
// its length: ("ab", "c") and ("a", "bc") are not the same.
func derive(key []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		mac.Write(length[:])
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}

// Equal reports whether two tokens are the same, in time that does not depend
// on where they differ. An empty token equals nothing, not even itself.
func Equal(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
