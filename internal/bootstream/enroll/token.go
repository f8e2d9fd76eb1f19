package enroll

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/farrier-dev/farrier/internal/bootstream/peer"
)

const (
	// tokenPrefix lets tools that look for leaked secrets find a token.
	tokenPrefix = "farrier-join"
	// secretBytes leave nothing to guess, so that a fast hash is enough.
	secretBytes = 32
)

// newToken makes a token for a name, and its hash.
func newToken(name string) (token, hash string) {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // it never fails (package crypto/rand)
	token = strings.Join([]string{tokenPrefix, name, base64.RawURLEncoding.EncodeToString(secret)}, "/")
	return token, hashToken(token)
}

// TokenName returns the name that a token is for.
func TokenName(token string) (string, error) {
	parts := strings.Split(token, "/")
	if len(parts) != 3 || parts[0] != tokenPrefix {
		return "", errors.New("the token is not of the form farrier-join/NAME/SECRET")
	}
	if secret, err := base64.RawURLEncoding.DecodeString(parts[2]); err != nil || len(secret) != secretBytes {
		return "", errors.New("the secret of the token is not complete")
	}
	name, err := peer.CheckName(parts[1])
	if err != nil || name != parts[1] {
		return "", errors.New("the name in the token is no DNS name in lower case")
	}
	return name, nil
}

func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func sameHash(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
