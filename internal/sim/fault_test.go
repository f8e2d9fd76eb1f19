package sim

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

func (r *Rack) inject(t *testing.T, s fault.Spec) string {
	t.Helper()
	if s.Share == 0 && s.BMCs == nil {
		s.BMCs = []int{1}
	}
	e, err := r.InjectFault(s)
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

func (r *Rack) clear(t *testing.T, id string) {
	t.Helper()
	if err := r.ClearFault(id); err != nil {
		t.Fatal(err)
	}
}

// fetch is a GET that may fail, on a connection of its own.
func (c *client) fetch(ctx context.Context, path string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return 0, "", err
	}
	req.SetBasicAuth(c.user, c.password)
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// TestFaultsOfRequests sees each fault at the BMC that it strikes, not at its
// neighbour, and not any more when it is cleared.
func TestFaultsOfRequests(t *testing.T) {
	rack := startRack(t, Options{Servers: 2})
	c, neighbour := rack.client(t, 0), rack.client(t, 1)
	status := func(want int, id, retryAfter string) func(*testing.T) {
		return func(t *testing.T) {
			r := c.do(http.MethodGet, systemURI, nil)
			if r.status != want || r.messageID() != id || r.header.Get("Retry-After") != retryAfter {
				t.Errorf("HTTP %d %s, Retry-After %q", r.status, r.messageID(), r.header.Get("Retry-After"))
			}
		}
	}
	body := func(good func(string) bool) func(*testing.T) {
		return func(t *testing.T) {
			if status, text, err := c.fetch(t.Context(), systemURI); err != nil || status != http.StatusOK || !good(text) {
				t.Errorf("HTTP %d, error %v: %s", status, err, text)
			}
		}
	}
	ends := func(within time.Duration, good func(error) bool) func(*testing.T) {
		return func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			if _, text, err := c.fetch(ctx, systemURI); !good(err) {
				t.Errorf("error %v: %s", err, text)
			}
		}
	}
	const impatient, patient = 100 * time.Millisecond, 20 * time.Second
	isTimeout := func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
	for _, tc := range []struct {
		spec fault.Spec
		seen func(*testing.T)
	}{
		{fault.Spec{Kind: fault.Hang}, ends(impatient, isTimeout)},
		{fault.Spec{Kind: fault.HangBody}, ends(impatient, isTimeout)},
		{fault.Spec{Kind: fault.Latency, Value: "1h"}, ends(impatient, isTimeout)},
		{fault.Spec{Kind: fault.Reset}, ends(patient, func(err error) bool { return err != nil && strings.Contains(err.Error(), "reset by peer") })},
		{fault.Spec{Kind: fault.Unauthorized}, status(401, "NoValidSession", "")},
		{fault.Spec{Kind: fault.Forbidden}, status(403, "InsufficientPrivilege", "")},
		{fault.Spec{Kind: fault.TooManyRequests, Value: "7"}, status(429, "ServiceTemporarilyUnavailable", "7")},
		{fault.Spec{Kind: fault.ServerError}, status(500, "InternalError", "")},
		{fault.Spec{Kind: fault.Unavailable}, status(503, "ServiceTemporarilyUnavailable", "1")},
		{fault.Spec{Kind: fault.WrongJSON}, body(func(s string) bool { return strings.HasPrefix(s, "[") && json.Valid([]byte(s)) })},
		{fault.Spec{Kind: fault.WrongJSON, Value: "types"}, body(func(s string) bool { return strings.Contains(s, `"PowerState":3`) && json.Valid([]byte(s)) })},
		{fault.Spec{Kind: fault.WrongJSON, Value: "html"}, body(func(s string) bool { return strings.HasPrefix(s, "<!DOCTYPE html>") })},
		{fault.Spec{Kind: fault.TruncatedJSON}, body(func(s string) bool { return strings.HasPrefix(s, "{") && !json.Valid([]byte(s)) })},
		{fault.Spec{Kind: fault.NoUUID}, body(func(s string) bool { return !strings.Contains(s, `"UUID"`) })},
		{fault.Spec{Kind: fault.NoPowerState}, body(func(s string) bool { return !strings.Contains(s, `"PowerState"`) })},
		{fault.Spec{Kind: fault.NoBootTarget}, body(func(s string) bool {
			return !strings.Contains(s, `"BootSourceOverrideTarget`) && strings.Contains(s, `"Boot"`)
		})},
		{fault.Spec{Kind: fault.NoStorage}, body(func(s string) bool {
			return !strings.Contains(s, `"Storage"`) && strings.Contains(s, `"SimpleStorage"`)
		})},
	} {
		t.Run(string(tc.spec.Kind)+tc.spec.Value, func(t *testing.T) {
			if requests(tc.spec.Kind) {
				tc.spec.Path = "/Systems/1$"
			}
			id := rack.inject(t, tc.spec)
			tc.seen(t)
			neighbour.want(http.StatusOK, http.MethodGet, systemURI, nil)
			if tc.spec.Path != "" {
				c.want(http.StatusOK, http.MethodGet, managerURI, nil)
			}
			rack.clear(t, id)
			if r := c.want(http.StatusOK, http.MethodGet, systemURI, nil); r.body["UUID"] != rack.Machine(0).UUID() {
				t.Errorf("afterwards: %v", r.body)
			}
		})
	}
}

// requests reports whether a kind has a path.
func requests(k fault.Kind) bool {
	return (fault.Spec{Kind: k, Share: 1, Path: "/"}).Check() == nil
}

func TestFaultsOfMembers(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	id := rack.inject(t, fault.Spec{Kind: fault.MemberError, Path: "^/redfish/v1/Systems$"})
	uris := odataIDs(c.want(http.StatusOK, http.MethodGet, systemsURI, nil).body["Members"])
	if len(uris) != 2 || uris[0] != systemURI {
		t.Fatalf("members %v", uris)
	}
	c.want(http.StatusOK, http.MethodGet, uris[0], nil)
	c.wantError(http.StatusInternalServerError, "InternalError", http.MethodGet, uris[1], nil)
	if r := c.want(http.StatusOK, http.MethodGet, managersURI, nil); r.body["Members@odata.count"] != 1.0 {
		t.Errorf("managers %v", r.body)
	}
	rack.clear(t, id)
	c.want(http.StatusNotFound, http.MethodGet, uris[1], nil)

	rack.inject(t, fault.Spec{Kind: fault.NoStorage})
	c.want(http.StatusNotFound, http.MethodGet, controllerURI, nil)
	simple := c.want(http.StatusOK, http.MethodGet, systemURI+"/SimpleStorage/1", nil)
	if devices, _ := simple.body["Devices"].([]any); len(devices) != len(rack.Machine(0).diskList()) {
		t.Errorf("devices %v", simple.body)
	}
}

func TestFaultsOfSessions(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	withToken := func() *client { return &client{t: t, base: c.base, token: c.login().header.Get("X-Auth-Token")} }

	id := rack.inject(t, fault.Spec{Kind: fault.SessionLoss, Value: "2"})
	s := withToken()
	s.want(http.StatusOK, http.MethodGet, systemURI, nil)
	s.want(http.StatusOK, http.MethodGet, systemURI, nil)
	s.want(http.StatusUnauthorized, http.MethodGet, systemURI, nil)
	rack.clear(t, id)

	s = withToken()
	id = rack.inject(t, fault.Spec{Kind: fault.SessionTableFull, Value: "farrier"})
	c.wantError(http.StatusServiceUnavailable, "SessionLimitExceeded", http.MethodPost, sessionsURI, object{"UserName": c.user, "Password": c.password})
	s.want(http.StatusOK, http.MethodGet, systemURI, nil)
	uris := odataIDs(c.want(http.StatusOK, http.MethodGet, sessionsURI, nil).body["Members"])
	last := uris[len(uris)-1]
	if r := c.want(http.StatusOK, http.MethodGet, last, nil); len(uris) != maxSessions || r.body["Context"] != "farrier" {
		t.Errorf("%d sessions, the last %v", len(uris), r.body)
	}
	c.want(http.StatusNoContent, http.MethodDelete, last, nil)
	if r := c.login(); r.status != http.StatusCreated {
		t.Errorf("login where there is room: HTTP %d", r.status)
	}
	rack.clear(t, id)
	if n := len(rack.bmcs[0].sessionIDs()); n != 2 {
		t.Errorf("%d sessions when the fault is over", n)
	}

	id = rack.inject(t, fault.Spec{Kind: fault.NoSessions})
	c.want(http.StatusNotFound, http.MethodPost, sessionsURI, object{"UserName": c.user, "Password": c.password})
	if _, has := c.want(http.StatusOK, http.MethodGet, rootURI, nil).body["SessionService"]; has {
		t.Error("the service root names a session service")
	}
	c.want(http.StatusOK, http.MethodGet, systemURI, nil)
	rack.clear(t, id)
	c.want(http.StatusOK, http.MethodGet, sessionServiceURI, nil)
}

func TestAccountLock(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	wrong := *c
	wrong.password = "wrong"
	id := rack.inject(t, fault.Spec{Kind: fault.AccountLocked, Value: "2"})
	wrong.wantError(http.StatusUnauthorized, "NoValidSession", http.MethodGet, systemURI, nil)
	c.want(http.StatusOK, http.MethodGet, systemURI, nil) // a right one begins the count again
	for range 2 {
		wrong.wantError(http.StatusUnauthorized, "NoValidSession", http.MethodGet, systemURI, nil)
	}
	c.wantError(http.StatusUnauthorized, "AccountLocked", http.MethodGet, systemURI, nil)
	c.wantError(http.StatusUnauthorized, "AccountLocked", http.MethodPost, sessionsURI, object{"UserName": c.user, "Password": c.password})
	rack.clear(t, id)
	c.want(http.StatusOK, http.MethodGet, systemURI, nil)
	rack.inject(t, fault.Spec{Kind: fault.AccountLocked})
	c.wantError(http.StatusUnauthorized, "AccountLocked", http.MethodGet, systemURI, nil)
}

func TestFaultsOfPower(t *testing.T) {
	rack := startRack(t, Options{Timing: Timing{POST: time.Hour}})
	c, m := rack.client(t, 0), rack.Machine(0)
	reset := func(resetType string) {
		t.Helper()
		c.want(http.StatusNoContent, http.MethodPost, resetURI, object{"ResetType": resetType})
	}
	told := func(want PowerState, really PowerState) {
		t.Helper()
		if r := c.want(http.StatusOK, http.MethodGet, systemURI, nil); r.body["PowerState"] != string(want) || m.PowerState() != really {
			t.Errorf("PowerState %v while %s, want %s while %s", r.body["PowerState"], m.PowerState(), want, really)
		}
	}
	id := rack.inject(t, fault.Spec{Kind: fault.PowerLies})
	told(PowerOff, PowerOff)
	reset("On")
	told(PowerOn, PowerOff)
	rack.clear(t, id)
	told(PowerOff, PowerOff)

	id = rack.inject(t, fault.Spec{Kind: fault.PowerLies, Value: "frozen"})
	reset("On")
	told(PowerOff, PoweringOn)
	rack.clear(t, id)
	told(PoweringOn, PoweringOn)

	id = rack.inject(t, fault.Spec{Kind: fault.IgnoreShutdown})
	reset("GracefulShutdown")
	told(PoweringOn, PoweringOn)
	reset("ForceOff")
	told(PowerOff, PowerOff)
	rack.clear(t, id)
}

func TestFaultsOfTime(t *testing.T) {
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	rack := startRack(t, Options{Clock: clock})
	c, m := rack.client(t, 0), rack.Machine(0)
	rack.inject(t, fault.Spec{Kind: fault.ClockSkew, Value: "-48h"})
	r := c.want(http.StatusOK, http.MethodGet, managerURI, nil)
	if r.body["DateTime"] != "2026-02-27T10:00:00Z" || r.header.Get("Date") != "Fri, 27 Feb 2026 10:00:00 GMT" {
		t.Errorf("DateTime %v, Date %s", r.body["DateTime"], r.header.Get("Date"))
	}
	rack.inject(t, fault.Spec{Kind: fault.SlowPOST, Value: "5m"})
	if _, err := m.Reset("On"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the self test takes its time", clock.HasWaiters)
	if m.PowerState() != PoweringOn {
		t.Errorf("power %s", m.PowerState())
	}
	clock.Step(5 * time.Minute)
	eventually(t, "the self test is over", func() bool { return m.PowerState() == PowerOn })
}

func TestFaultsOfTLS(t *testing.T) {
	rack := startRack(t, Options{Servers: 2, Scheme: "https"})
	get := func(i int) error {
		client := rack.httpClient(t)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rack.baseURL(i)+rootURI, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	is := func(value string, err error) bool {
		switch value {
		case "expired":
			invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
			return ok && invalid.Reason == x509.Expired
		case "name", "self-signed":
			_, ok := errors.AsType[x509.HostnameError](err)
			return ok
		case "authority":
			_, ok := errors.AsType[*tls.CertificateVerificationError](err)
			return ok
		default:
			return err != nil && strings.Contains(err.Error(), "tls: internal error")
		}
	}
	// What is remembered of a certificate stays true.
	shown := func() []byte {
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(rack.baseURL(0), "https://"))
		if err != nil {
			return nil
		}
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw
	}
	for _, value := range []string{"alert", "expired", "name", "authority", "self-signed"} {
		id := rack.inject(t, fault.Spec{Kind: fault.TLSFailure, Value: value})
		if err := get(0); !is(value, err) {
			t.Errorf("%s: error %v", value, err)
		}
		if err := get(1); err != nil {
			t.Errorf("%s: the neighbour: %v", value, err)
		}
		if first, second := shown(), shown(); !bytes.Equal(first, second) || (first == nil) != (value == "alert") {
			t.Errorf("%s: certificate %x, then %x", value, first, second)
		}
		rack.clear(t, id)
		if err := get(0); err != nil {
			t.Errorf("after %s: %v", value, err)
		}
	}
}

// TestEveryFaultIsObservable looks at the list of kinds, so that a new one cannot be
// forgotten here.
func TestEveryFaultIsObservable(t *testing.T) {
	elsewhere := []fault.Kind{
		fault.SessionLoss, fault.SessionTableFull, fault.NoSessions, fault.AccountLocked, fault.ClockSkew, fault.SlowPOST,
		fault.IgnoreShutdown, fault.PowerLies, fault.MemberError, fault.ExpandLies, fault.TLSFailure, fault.DropEvents,
		fault.SettingsRefused, fault.SettingsIgnored, // TestManagerSettings
		fault.DiskFails, fault.OldProbe, fault.SilentProbe, fault.KernelPanic, fault.SessionsRefused, fault.NoToken, fault.FewBootTargets,
		fault.OverrideIgnored,
		fault.ConsoleHang, fault.ConsoleRefuse, fault.NoConsole, // internal/console.TestAConsoleThatThereIsNot
		fault.BadUpdate, fault.SlowReset, fault.AccountTableFull, fault.PasswordExpiry, fault.PasswordsRefused,
	}
	requested := []fault.Kind{
		fault.Latency, fault.Hang, fault.HangBody, fault.Reset, fault.Unauthorized, fault.Forbidden, fault.TooManyRequests, fault.ServerError,
		fault.Unavailable, fault.WrongJSON, fault.TruncatedJSON, fault.NoUUID, fault.NoPowerState, fault.NoBootTarget, fault.NoStorage,
	}
	if got := len(fault.Kinds()); got != len(elsewhere)+len(requested) {
		t.Errorf("%d kinds, %d with a test", got, len(elsewhere)+len(requested))
	}
}

// TestFaultsAtStart also has two faults at once.
func TestFaultsAtStart(t *testing.T) {
	rack := startRack(t, Options{Servers: 10, Faults: []fault.Spec{{Kind: fault.Forbidden, Share: 0.2}, {Kind: fault.NoUUID, BMCs: []int{1}}}})
	forbidden := 0
	for i := range 10 {
		if r := rack.client(t, i).do(http.MethodGet, systemURI, nil); r.status == http.StatusForbidden {
			forbidden++
		}
	}
	if forbidden != 2 || len(rack.Faults()) != 2 {
		t.Errorf("%d BMCs are struck by %+v", forbidden, rack.Faults())
	}
	if _, err := Start(t.Context(), Options{Servers: 1, Faults: []fault.Spec{{Kind: fault.Hang, BMCs: []int{2}}}}); err == nil || !strings.Contains(err.Error(), "faults[0]: bmcs: 2") {
		t.Errorf("a fault of a BMC that is not there: %v", err)
	}
	if _, err := rack.InjectFault(fault.Spec{Kind: fault.TLSFailure, Share: 1}); err == nil || !strings.Contains(err.Error(), "speaks http") {
		t.Errorf("a fault of TLS where there is none: %v", err)
	}
}
