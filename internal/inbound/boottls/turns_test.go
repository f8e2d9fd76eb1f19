package boottls

import (
	"crypto"
	"crypto/tls"
	"io"
	"testing"
	"testing/synctest"
)

// slowKey signs and decrypts when it is told to.
type slowKey struct{ begun, goOn chan struct{} }

func (slowKey) Public() crypto.PublicKey { return nil }

func (k slowKey) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	k.begun <- struct{}{}
	<-k.goOn
	return nil, nil
}

func (k slowKey) Decrypt(random io.Reader, _ []byte, _ crypto.DecrypterOpts) ([]byte, error) {
	return k.Sign(random, nil, nil)
}

// TestPrivateOperationsAreInTurn: signatures and what is decrypted share the turns, so that a flood of handshakes of whatever kind
// leaves processors to others.
func TestPrivateOperationsAreInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := slowKey{begun: make(chan struct{}, 10), goOn: make(chan struct{})}
		paced := make(turns, 2).inTurn(&tls.Certificate{PrivateKey: key}).PrivateKey
		signer, decrypter := paced.(crypto.Signer), paced.(crypto.Decrypter)
		for range 3 {
			go func() { _, _ = signer.Sign(nil, nil, nil) }()
			go func() { _, _ = decrypter.Decrypt(nil, nil, nil) }()
		}
		for _, want := range []int{2, 2, 2} {
			synctest.Wait()
			if got := len(key.begun); got != want {
				t.Fatalf("%d are under way, want %d", got, want)
			}
			for range want {
				<-key.begun
				key.goOn <- struct{}{}
			}
		}
	})
}

// TestAKeyThatOnlySignsIsNotSaidToDecrypt: TLS would choose key exchanges that it cannot do.
func TestAKeyThatOnlySignsIsNotSaidToDecrypt(t *testing.T) {
	only := struct{ crypto.Signer }{slowKey{}}
	if _, ok := newTurns().inTurn(&tls.Certificate{PrivateKey: only}).PrivateKey.(crypto.Decrypter); ok {
		t.Error("it is")
	}
}
