package content

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// Secret is bytes that are never printed.
type Secret []byte

// String hides what it holds; so does every other way to print it.
func (Secret) String() string { return "[redacted]" }

// Format is for %x and its like, which would not ask String.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[redacted]")) }

// Request is a request to a server.
type Request struct {
	URL string
	// Certificate and Key are the client's, CA is what the server's certificate is verified
	// with instead of the system's authorities; all PEM, and empty without mutual TLS.
	Certificate, CA []byte
	Key             Secret
	// Username and Password are for Basic authentication (RFC 7617), if there is a username.
	Username string
	Password Secret
}

// ID returns a hash that tells requests apart and reveals nothing of them.
func (r Request) ID() [sha256.Size]byte {
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(r.URL), r.Certificate, r.CA, r.Key, []byte(r.Username), r.Password} {
		fmt.Fprintf(sum, "%d:", len(part))
		sum.Write(part)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

// tls is the configuration of a connection. Errors do not repeat what the Secret holds.
func (r Request) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(r.CA) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(r.CA) {
			return nil, errors.New("ca.crt holds no PEM certificate")
		}
	}
	if len(r.Certificate) > 0 || len(r.Key) > 0 {
		pair, err := tls.X509KeyPair(r.Certificate, r.Key)
		if err != nil {
			return nil, errors.New("tls.crt and tls.key are not a PEM certificate and its key")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Result is what is known of an answer.
type Result struct {
	// Bytes are the last good answer; Found reports whether there was one.
	Bytes []byte
	Found bool
	// Err is the error of the last attempt. It names no secret.
	Err error
}
