package signature

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"
)

const (
	digest  = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	payload = `{"critical":{"identity":{"docker-reference":"x"},"image":{"docker-manifest-digest":"` + digest + `"},"type":"cosign container image signature"},"optional":null}`
)

func publicPEM(t testing.TB, key crypto.PublicKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: publicKeyBlock, Bytes: der}))
}

func ec(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rsaKey(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestKinds: every kind of key that cosign signs with, by every hash that it has used.
func TestKinds(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		key  crypto.Signer
		hash crypto.Hash
	}{
		"P-256":             {ec(t, elliptic.P256()), crypto.SHA256},
		"P-384":             {ec(t, elliptic.P384()), crypto.SHA384},
		"P-384 and SHA-256": {ec(t, elliptic.P384()), crypto.SHA256},
		"P-521":             {ec(t, elliptic.P521()), crypto.SHA512},
		"P-521 and SHA-256": {ec(t, elliptic.P521()), crypto.SHA256},
		"RSA":               {rsaKey(t, 2048), crypto.SHA256},
		"Ed25519":           {edwards, 0},
	} {
		t.Run(name, func(t *testing.T) {
			message := []byte(payload)
			if tt.hash != 0 {
				message = sum(tt.hash, message)
			}
			signed, err := tt.key.Sign(rand.Reader, message, tt.hash)
			if err != nil {
				t.Fatal(err)
			}
			// Another key before it does no harm.
			keys, err := ParseKeys([]byte(publicPEM(t, ec(t, elliptic.P256()).Public()) + "\n" + publicPEM(t, tt.key.Public())))
			if err != nil {
				t.Fatal(err)
			}
			text := base64.StdEncoding.EncodeToString(signed)
			if err := keys.Simple([]byte(payload), text, digest); err != nil {
				t.Error(err)
			}
			if err := keys.Simple([]byte(payload+" "), text, digest); !errors.Is(err, ErrUntrusted) {
				t.Errorf("changed: %v", err)
			}
			if err := keys.Simple([]byte(payload), text, strings.Replace(digest, "e3", "e4", 1)); !errors.Is(err, ErrOtherImage) {
				t.Errorf("of another image: %v", err)
			}
		})
	}
}

func TestParseKeysRefuses(t *testing.T) {
	good := publicPEM(t, ec(t, elliptic.P256()).Public())
	private, err := x509.MarshalPKCS8PrivateKey(ec(t, elliptic.P256()))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ text, says string }{
		"nothing":       {"", "no public key"},
		"no PEM":        {"ssh-ed25519 AAAA", "not PEM"},
		"PEM, then not": {good + "and more", "not PEM"},
		"a private key": {good + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), `"PRIVATE KEY"`},
		"no key":        {string(pem.EncodeToMemory(&pem.Block{Type: publicKeyBlock, Bytes: []byte("x")})), "public key 1"},
		"weak RSA":      {good + publicPEM(t, rsaKey(t, 1024).Public()), "public key 2: RSA with 1024 bits"},
		"small curve":   {publicPEM(t, ec(t, elliptic.P224()).Public()), "P-224"},
		"too many":      {strings.Repeat(good, maxKeys+1), "65 keys"},
	} {
		if _, err := ParseKeys([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want an error with %q", name, err, tt.says)
		}
	}
}

func TestNoKeys(t *testing.T) {
	if !(Keys{}).Empty() || !errors.Is((Keys{}).Simple([]byte(payload), "", digest), ErrUntrusted) {
		t.Error("without keys something is trusted")
	}
	one, err := ParseKeys([]byte(publicPEM(t, ec(t, elliptic.P256()).Public())))
	if err != nil || one.Empty() || len(one.Join(one).keys) != 2 {
		t.Errorf("%v, %v", one, err)
	}
}

// TestPreAuthentication has the example of the DSSE specification.
func TestPreAuthentication(t *testing.T) {
	got := preAuthentication("http://example.com/HelloWorld", []byte("hello world"))
	if want := []byte("DSSEv1 29 http://example.com/HelloWorld 11 hello world"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzSignatures: whoever may push to a repository decides what is read. Nothing of theirs counts.
func FuzzSignatures(f *testing.F) {
	keys, err := ParseKeys([]byte(publicPEM(f, ec(f, elliptic.P256()).Public())))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(payload), "MEUCIQ==")
	f.Add([]byte(`{"dsseEnvelope":{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"sig":"MEUCIQ=="}]}}`), "")
	f.Add([]byte(`{"dsseEnvelope":{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[]}}`), "")
	f.Fuzz(func(t *testing.T, body []byte, signature string) {
		if keys.Simple(body, signature, digest) == nil || keys.Bundle(body, digest) == nil {
			t.Error("a signature that nobody made counts")
		}
	})
}
