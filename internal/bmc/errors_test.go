package bmc_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

func TestStatusKinds(t *testing.T) {
	for status, want := range map[int]bmc.Kind{
		400: bmc.KindRejected, 403: bmc.KindRejected, 404: bmc.KindRejected, 409: bmc.KindRejected, 412: bmc.KindRejected,
		405: bmc.KindUnsupported, 501: bmc.KindUnsupported,
		408: bmc.KindTimeout,
		429: bmc.KindServer, 500: bmc.KindServer, 502: bmc.KindServer, 503: bmc.KindServer, 507: bmc.KindServer,
		204: bmc.KindProtocol, 304: bmc.KindProtocol,
	} {
		s := bmctest.New(t)
		s.Handle(getSystem, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		_, err := client(t, s).System(t.Context(), bmctest.System)
		e, ok := errors.AsType[*bmc.Error](err)
		if !ok || e.Kind != want {
			t.Errorf("%d: %v, want %s", status, err, want)
		}
	}
}

func TestErrorTellsWhatTheBMCSaid(t *testing.T) {
	s := bmctest.New(t)
	s.Handle(getSystem, func(w http.ResponseWriter, _ *http.Request) {
		bmctest.Fail(w, http.StatusServiceUnavailable, "Base.1.8.ServiceTemporarilyUnavailable")
	})
	_, err := client(t, s).System(t.Context(), bmctest.System)
	want := s.Endpoint().Key() + ": GET /redfish/v1/Systems/1: 503 Service Unavailable: ServiceTemporarilyUnavailable: " +
		"Words of Base.1.8.ServiceTemporarilyUnavailable."
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                              0,
		"30":                            30 * time.Second,
		" 7 ":                           7 * time.Second,
		"-1":                            0,
		"soon":                          0,
		"99999999999999999999":          0,
		"Sun, 01 Mar 2026 12:01:30 GMT": 90 * time.Second,
		"Sun, 01 Mar 2026 11:00:00 GMT": 0,
	} {
		s := bmctest.New(t)
		s.Handle(getSystem, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		c := bmc.NewClient(s.Endpoint(), s.Credentials(), bmc.Options{Clock: clocktesting.NewFakeClock(now)})
		_, err := c.System(t.Context(), bmctest.System)
		e, ok := errors.AsType[*bmc.Error](err)
		if !ok || e.RetryAfter != want {
			t.Errorf("Retry-After %q: %v, %v", header, e.RetryAfter, err)
		}
	}
}

// The words of an error stay the same from one attempt to the next: they stand in
// conditions, and a change of them is a change of the observation.
func TestConnectionErrorsAreStable(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	c := bmc.NewClient(bmc.Endpoint{Scheme: "http", Host: "127.0.0.1", Port: port}, bmc.Credentials{}, bmc.Options{})
	_, first := c.System(t.Context(), bmctest.System)
	_, second := c.System(t.Context(), bmctest.System)
	if bmc.KindOf(first) != bmc.KindConnection || !strings.HasSuffix(first.Error(), "connection refused") {
		t.Errorf("error %v", first)
	}
	if first.Error() != second.Error() {
		t.Errorf("first %v, then %v", first, second)
	}
	if !bmc.Unreachable(first) {
		t.Error("a refused connection does not count as unreachable")
	}
}

func TestResetConnection(t *testing.T) {
	s := bmctest.New(t)
	s.Handle(getSystem, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := client(t, s).System(t.Context(), bmctest.System)
	if bmc.KindOf(err) != bmc.KindConnection {
		t.Errorf("error %v", err)
	}
}

func TestCancelledByTheCaller(t *testing.T) {
	s := bmctest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.Handle(getSystem, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	_, err := client(t, s).System(ctx, bmctest.System)
	if !errors.Is(err, context.Canceled) || bmc.KindOf(err) == bmc.KindTimeout {
		t.Errorf("error %v", err)
	}
}
