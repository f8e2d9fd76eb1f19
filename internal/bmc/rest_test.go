package bmc_test

import (
	"crypto/x509"
	"testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
	"github.com/farrier-dev/farrier/test/await"
)

// TestRest: the connection goes, the session stays, and whatever is asked next is asked once, on a connection of its own.
func TestRest(t *testing.T) {
	secure := bmctest.NewTLS(t)
	pool := x509.NewCertPool()
	pool.AddCert(secure.HTTP.Certificate())
	for name, s := range map[string]*bmctest.Server{"http": bmctest.New(t), "https": secure} {
		t.Run(name, func(t *testing.T) {
			c := bmc.NewClient(s.Endpoint(), s.Credentials(), bmc.Options{RootCAs: pool})
			if err := c.Rest(t.Context()); err != nil {
				t.Errorf("rest before anything was asked: %v", err)
			}
			for i := range 50 {
				if _, err := c.System(t.Context(), bmctest.System); err != nil {
					t.Fatalf("request %d: %v", i, err)
				}
				if err := c.Rest(t.Context()); err != nil {
					t.Fatalf("rest %d: %v", i, err)
				}
			}
			if err := c.Rest(t.Context()); err != nil {
				t.Errorf("a second rest: %v", err)
			}
			if n := s.Count(getSystem); n != 50 {
				t.Errorf("%d requests arrived, want 50", n)
			}
			if n := s.Count(login); n != 1 {
				t.Errorf("%d logins", n)
			}
			if _, connections := s.Peaks(); connections != 1 {
				t.Errorf("%d connections at a time", connections)
			}
			await.True(t, "the connections are closed", func() bool { return s.Connections() == 0 })
		})
	}
}
