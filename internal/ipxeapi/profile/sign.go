package profile

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// Signer makes URLs of configs that end, and that nobody can make but those with the key.
type Signer struct {
	Key []byte
	// TTL is how long a URL is good for.
	TTL time.Duration
}

// sign returns what is added to a URL's query.
func (s *Signer) sign(id, revision, labels string, now time.Time) string {
	expires := now.Add(s.TTL).Unix()
	return fmt.Sprintf("&expires=%d&signature=%s", expires, s.signature(id, revision, labels, expires))
}

func (s *Signer) signature(id, revision, labels string, expires int64) string {
	mac := hmac.New(sha256.New, s.Key)
	fmt.Fprintf(mac, "url\x00%s\x00%s\x00%s\x00%d", id, revision, labels, expires)
	return hex.EncodeToString(mac.Sum(nil))
}

// verify compares in constant time.
func (s *Signer) verify(id, revision, labels, expires, signature string, now time.Time) bool {
	end, err := strconv.ParseInt(expires, 10, 64)
	if err != nil || now.Unix() >= end {
		return false
	}
	return hmac.Equal([]byte(s.signature(id, revision, labels, end)), []byte(signature))
}
