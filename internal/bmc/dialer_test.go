package bmc_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

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

// http.Transport may dial before it has closed the connection that it gave up. Dials to one
// address wait for that, no longer than the request that wants the connection.
func TestOneConnectionToAnAddress(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	transport := bmc.NewTransport(bmc.Options{})
	dial := func(ctx context.Context) (net.Conn, error) {
		return transport.DialContext(ctx, "tcp", l.Addr().String())
	}
	first, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside an open one: %v", err)
	}
	_, _ = first.Close(), first.Close()
	second, err := dial(t.Context())
	if err != nil {
		t.Fatalf("after it was closed: %v", err)
	}
	_ = second.Close()
	if _, err := transport.DialContext(t.Context(), "tcp", "127.0.0.1:0"); err == nil {
		t.Error("connected to port 0")
	}
}
