package bmcevents

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"strings"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// Channel is what is sent to a destination. Some BMCs take one subscription for each destination only, so
// each channel has its own.
type Channel string

const (
	Alerts        Channel = "alerts"
	MetricReports Channel = "metricreports"
)

// pathPurpose separates these tokens from the others that are made of the installation's key.
const pathPurpose = "farrier bmc events v1"

// maxUID is longer than the UID of any object.
const maxUID = 64

// Paths makes and recognises destinations. The zero value recognises none.
type Paths struct{ key []byte }

// NewPaths returns the paths of an installation. A key shorter than the hash keeps no secret
// (RFC 2104 §3) and gives paths that match nothing.
func NewPaths(key []byte) Paths {
	if len(key) < sha256.Size {
		return Paths{}
	}
	return Paths{key: key}
}

// Destination is where the BMC with that UID shall send to, below the base URL of the receiver. It is
// a secret: who knows it can send in the name of the BMC.
func (p Paths) Destination(base string, channel Channel, uid string) bmc.Secret {
	return bmc.Secret(strings.TrimRight(base, "/") + "/" + string(channel) + "/" + uid + "/" + p.token(channel, uid))
}

// Parse says which BMC and channel a destination, or the path of one, is of. What stands before
// its last three segments does not matter: a proxy may have put it there, and the receiver may
// have had another address when the subscription was made.
func (p Paths) Parse(destination string) (uid string, channel Channel, ok bool) {
	path := destination
	if u, err := url.Parse(destination); err == nil {
		path = u.Path
	}
	rest, token := cut(path)
	rest, uid = cut(rest)
	_, name := cut(rest)
	channel = Channel(name)
	if p.key == nil || uid == "" || len(uid) > maxUID || (channel != Alerts && channel != MetricReports) {
		return "", "", false
	}
	// The comparison takes as long for a BMC that exists as for one that does not.
	if !hmac.Equal([]byte(token), []byte(p.token(channel, uid))) {
		return "", "", false
	}
	return uid, channel, true
}

// cut splits a path at its last slash.
func cut(path string) (rest, last string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// token is an HMAC-SHA256 (RFC 2104) in unpadded base64url (RFC 4648 §5), which needs no escaping in a path.
func (p Paths) token(channel Channel, uid string) string {
	mac := hmac.New(sha256.New, p.key)
	// Every part is preceded by its length: ("ab", "c") and ("a", "bc") are different.
	for _, part := range []string{pathPurpose, string(channel), uid} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		mac.Write(length[:])
		mac.Write([]byte(part))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
