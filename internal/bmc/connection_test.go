package bmc_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
	"github.com/farrier-dev/farrier/test/await"
)

// TestDisconnect: the connection is closed, the session stays, and the next request is sent once, on a connection of its own.
func TestDisconnect(t *testing.T) {
	secure := bmctest.NewTLS(t)
	pool := x509.NewCertPool()
	pool.AddCert(secure.HTTP.Certificate())
	for name, s := range map[string]*bmctest.Server{"http": bmctest.New(t), "https": secure} {
		t.Run(name, func(t *testing.T) {
			c := bmc.NewClient(s.Endpoint(), s.Credentials(), bmc.Options{RootCAs: pool})
			if err := c.Disconnect(t.Context()); err != nil {
				t.Errorf("disconnect before the first request: %v", err)
			}
			for i := range 50 {
				if _, err := c.System(t.Context(), bmctest.System); err != nil {
					t.Fatalf("request %d: %v", i, err)
				}
				if err := c.Disconnect(t.Context()); err != nil {
					t.Fatalf("disconnect %d: %v", i, err)
				}
			}
			if err := c.Disconnect(t.Context()); err != nil {
				t.Errorf("a second disconnect: %v", err)
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
			await.Until(t, "all connections closed", func() string {
				if n := s.Connections(); n > 0 {
					return fmt.Sprintf("%d connections are still open", n)
				}
				return ""
			})
		})
	}
}

// A server that closes after every answer has connections follow each other closely.
func TestConnectionsDoNotOverlap(t *testing.T) {
	s := bmctest.New(t)
	s.HTTP.Config.SetKeepAlivesEnabled(false)
	c := client(t, s)
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 50 {
				if _, err := c.System(t.Context(), bmctest.System); err != nil {
					t.Error(err)
				}
			}
		})
	}
	asking.Wait()
	if requests, connections := s.Peaks(); requests != 1 || connections != 1 {
		t.Errorf("%d requests and %d connections at a time, want 1 and 1", requests, connections)
	}
}

// TestADialEndsWithItsRequest: what the network takes too long for is given up, and no connection of an earlier request comes after it.
func TestADialEndsWithItsRequest(t *testing.T) {
	s := bmctest.New(t)
	options := bmc.Options{RequestTimeout: short}
	options.Transport = bmc.NewTransport(options)
	dial, open, slow := options.Transport.DialContext, 0, true
	options.Transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if slow {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		open++
		return dial(ctx, network, address)
	}
	c := bmc.NewClient(s.Endpoint(), s.Credentials(), options)
	if _, err := c.System(t.Context(), bmctest.System); bmc.KindOf(err) != bmc.KindTimeout {
		t.Errorf("a dial that hangs: %v", err)
	}
	slow = false
	if _, err := c.System(t.Context(), bmctest.System); err != nil || open != 1 {
		t.Errorf("after it: %d connections, %v", open, err)
	}
}

// TestAConnectionThatTheServerClosed: a GET on it is repeated once, and what changes something is sent on a new one if the end was seen before.
func TestAConnectionThatTheServerClosed(t *testing.T) {
	s := bmctest.New(t)
	c := client(t, s)
	for range 50 {
		if _, err := c.System(t.Context(), bmctest.System); err != nil {
			t.Fatal(err)
		}
		s.HTTP.CloseClientConnections()
	}
	if n := s.Count(getSystem); n != 50 {
		t.Errorf("%d requests arrived, want 50", n)
	}
}
