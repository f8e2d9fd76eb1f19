package boottls

import (
	"crypto"
	"crypto/tls"
	"io"
	"runtime"
)

// turns are the private operations that may be under way at a time. One with an RSA key of 3072 bits takes a processor for some
// milliseconds, for anybody who begins a handshake, so half of the processors are left to everything else.
type turns chan struct{}

func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)/2)) }

// take returns once it is the caller's turn, and what ends the turn.
func (t turns) take() (done func()) {
	t <- struct{}{}
	return func() { <-t }
}

// inTurn is a certificate whose key waits for its turn.
func (t turns) inTurn(c *tls.Certificate) *tls.Certificate {
	signer, ok := c.PrivateKey.(crypto.Signer)
	if !ok {
		return c
	}
	paced := *c
	paced.PrivateKey = signingKey{signer, t}
	if decrypter, ok := c.PrivateKey.(crypto.Decrypter); ok {
		paced.PrivateKey = decryptingKey{signingKey{signer, t}, decrypter}
	}
	return &paced
}

// signingKey is a key that only signs, such as one of an elliptic curve.
type signingKey struct {
	crypto.Signer
	turns turns
}

// Sign implements crypto.Signer.
func (k signingKey) Sign(random io.Reader, digest []byte, o crypto.SignerOpts) ([]byte, error) {
	defer k.turns.take()()
	return k.Signer.Sign(random, digest, o)
}

// decryptingKey is a key that clients without elliptic curves may encrypt to.
type decryptingKey struct {
	signingKey
	decrypter crypto.Decrypter
}

// Decrypt implements crypto.Decrypter.
func (k decryptingKey) Decrypt(random io.Reader, message []byte, o crypto.DecrypterOpts) ([]byte, error) {
	defer k.turns.take()()
	return k.decrypter.Decrypt(random, message, o)
}
