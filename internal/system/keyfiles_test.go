package system

import (
	"crypto/x509"
	"os"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/test/certificate"
)

// TestKeysAreClosedToOthers: one rule holds for the keys of all flags.
func TestKeysAreClosedToOthers(t *testing.T) {
	cert, key := certificate.SelfSigned(t, func(*x509.Certificate) {}).Write(t, t.TempDir())
	for flag, use := range map[string]func() error{
		"operator-key-file": func() error { _, _, err := servingCertificate("operator", cert, key, ""); return err },
		"metrics-key-file":  func() error { _, _, err := servingCertificate("metrics", cert, key, ""); return err },
		"bmc-events-cert-file": func() error {
			return (&settings{Options: Options{BMCEventsAddress: ":1", BMCEventsCertFile: cert, BMCEventsKeyFile: key}}).checkEvents()
		},
	} {
		if err := os.Chmod(key, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := use(); err != nil {
			t.Errorf("--%s: %v", flag, err)
		}
		if err := os.Chmod(key, 0o604); err != nil {
			t.Fatal(err)
		}
		if err := use(); err == nil || !strings.Contains(err.Error(), "--"+flag) || !strings.Contains(err.Error(), "chmod 600 "+key) {
			t.Errorf("--%s, and everybody may read the key: %v", flag, err)
		}
	}
}
