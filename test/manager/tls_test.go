package manager

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/test/loopback"
)

// TestManagersShareTheBootAuthority: machines that trust the authority which the first manager made trust the one that takes over.
func TestManagersShareTheBootAuthority(t *testing.T) {
	s := newSiteOf(t, 1)
	address := loopback.Free(t)
	args := append([]string{"--boot-tls-address", address}, s.args...)
	first := launch(t, "first", args...)
	first.isReady()
	var published corev1.ConfigMap
	eventually(t, "the authority is published", func() error {
		return s.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "farrier-boot-ca"}, &published)
	})
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(published.Data["ca.crt"])) {
		t.Fatalf("published: %v", published.Data)
	}
	shown := func() (*x509.Certificate, error) {
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots})
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0], nil
	}
	var before *x509.Certificate
	eventually(t, "the first answers over TLS", func() (err error) {
		before, err = shown()
		return err
	})
	second := launch(t, "second", args...)
	second.isReady()
	first.stop()
	eventually(t, "the second answers over TLS", func() error {
		after, err := shown()
		if err == nil && after.Equal(before) {
			return errors.New("the certificate of the first is shown")
		}
		return err
	})
	second.stop()
}
