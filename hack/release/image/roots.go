package image

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"runtime/debug"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// roots returns the certificates of public authorities in PEM: those of Mozilla, as the Go project publishes them. They are a Go module, so go.sum
// pins them; a package of a distribution would be another one every few months, and a build could not be repeated. Authorities that Mozilla trusts
// only for certificates of the past are left out: a PEM file cannot say that.
func roots() ([]byte, error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, fmt.Errorf("authority: %w", err)
		}
		fmt.Fprintf(&out, "# %s\n", certificate.Subject)
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// rootsModule is the module that has them.
const rootsModule = "golang.org/x/crypto/x509roots/fallback"

// rootsVersion is which of them this program has. A test has no modules recorded.
func rootsVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == rootsModule {
				return m.Version
			}
		}
	}
	return ""
}
