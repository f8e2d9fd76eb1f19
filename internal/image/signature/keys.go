package signature

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	_ "crypto/sha256" // for crypto.Hash
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// publicKeyBlock is the type of PEM blocks of public keys (RFC 7468 §13).
const publicKeyBlock = "PUBLIC KEY"

// minRSABits is the least size of an RSA key (NIST SP 800-131A §3).
const minRSABits = 2048

// maxKeys bounds how many keys each signature is tried with.
const maxKeys = 64

// ErrUntrusted reports a signature that no trusted key has made.
var ErrUntrusted = errors.New("no trusted key made the signature")

// Keys are the public keys whose signatures count. Each of them does for every image.
type Keys struct{ keys []crypto.PublicKey }

// ParseKeys reads public keys from PEM, at least one. It refuses everything else in it, a private key above all.
func ParseKeys(text []byte) (Keys, error) {
	var keys Keys
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		text = rest
		if block.Type != publicKeyBlock {
			return Keys{}, fmt.Errorf("it has a PEM block %q, and only %q may be in it", block.Type, publicKeyBlock)
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err == nil {
			err = usable(key)
		}
		if err != nil {
			return Keys{}, fmt.Errorf("public key %d: %w", len(keys.keys)+1, err)
		}
		keys.keys = append(keys.keys, key)
	}
	switch {
	case len(bytes.TrimSpace(text)) > 0:
		return Keys{}, errors.New("it has something that is not PEM")
	case len(keys.keys) == 0:
		return Keys{}, errors.New("it has no public key in PEM")
	case len(keys.keys) > maxKeys:
		return Keys{}, fmt.Errorf("it has %d keys, and more than %d are not taken", len(keys.keys), maxKeys)
	}
	return keys, nil
}

// Join returns all keys of both.
func (k Keys) Join(others Keys) Keys { return Keys{slices.Concat(k.keys, others.keys)} }

// Empty reports whether there is no key.
func (k Keys) Empty() bool { return len(k.keys) == 0 }

// usable refuses keys that verify reads no signature of.
func usable(key crypto.PublicKey) error {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if hashesOf(key) == nil {
			return fmt.Errorf("ECDSA with curve %s is not supported", key.Curve.Params().Name)
		}
	case *rsa.PublicKey:
		if key.N.BitLen() < minRSABits {
			return fmt.Errorf("RSA with %d bits is too weak: %d are needed", key.N.BitLen(), minRSABits)
		}
	case ed25519.PublicKey:
	default:
		return fmt.Errorf("keys of type %T are not supported", key)
	}
	return nil
}

// hashesOf are the hashes that cosign has signed with by keys of a curve: SHA-256 for every curve at first, later that of the curve's size.
func hashesOf(key *ecdsa.PublicKey) []crypto.Hash {
	switch key.Curve.Params().BitSize {
	case 256:
		return []crypto.Hash{crypto.SHA256}
	case 384:
		return []crypto.Hash{crypto.SHA384, crypto.SHA256}
	case 521:
		return []crypto.Hash{crypto.SHA512, crypto.SHA256}
	}
	return nil
}

// verify reports by its error whether one of the keys has signed a message.
func (k Keys) verify(message, signature []byte) error {
	for _, key := range k.keys {
		if verifies(key, message, signature) {
			return nil
		}
	}
	return ErrUntrusted
}

func verifies(key crypto.PublicKey, message, signature []byte) bool {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		return slices.ContainsFunc(hashesOf(key), func(h crypto.Hash) bool { return ecdsa.VerifyASN1(key, sum(h, message), signature) })
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum(crypto.SHA256, message), signature) == nil
	case ed25519.PublicKey:
		return ed25519.Verify(key, message, signature)
	}
	return false
}

func sum(h crypto.Hash, message []byte) []byte {
	hash := h.New()
	hash.Write(message)
	return hash.Sum(nil)
}
