package bmc_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

const (
	login     = "POST /redfish/v1/SessionService/Sessions"
	getSystem = "GET " + bmctest.System
	getRoot   = "GET " + bmctest.Root
	getList   = "GET " + bmctest.Systems // what Basic authentication is tried with
)

// echo refuses a login and repeats its body.
func echo() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Password string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		bmctest.JSON(w, http.StatusForbidden, bmctest.Resource{"error": bmctest.Resource{
			"code": "Base.1.0.Refused", "message": strings.Repeat("x", 180) + " not " + in.Password,
		}})
	}
}

func requests(s *bmctest.Server) []string {
	var list []string
	for _, r := range s.Requests() {
		list = append(list, r.String())
	}
	return list
}

func TestOneSessionForAll(t *testing.T) {
	s := bmctest.New(t)
	c := client(t, s)
	for range 3 {
		if _, err := c.System(t.Context(), bmctest.System); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{login, getSystem, getSystem, getSystem, "DELETE /redfish/v1/SessionService/Sessions/1"}
	if diff := cmp.Diff(want, requests(s)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for _, r := range s.Requests() {
		if r.Basic {
			t.Errorf("%s was sent with Basic authentication", r)
		}
	}
	if n := s.Sessions(); n != 0 {
		t.Errorf("%d sessions left", n)
	}
}

func TestLostSessionIsMadeAgainOnce(t *testing.T) {
	s := bmctest.New(t)
	c := client(t, s)
	if _, err := c.System(t.Context(), bmctest.System); err != nil {
		t.Fatal(err)
	}
	s.DropSessions()
	if _, err := c.System(t.Context(), bmctest.System); err != nil {
		t.Fatalf("after the session was lost: %v", err)
	}
	if diff := cmp.Diff([]string{login, getSystem, getSystem, login, getSystem}, requests(s)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestRefusalsAreFinal(t *testing.T) {
	refuse := func(status int, id string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { bmctest.Fail(w, status, id) }
	}
	for _, test := range []struct {
		name   string
		breaks func(*bmctest.Server)
		want   []string
	}{
		{"wrong password", func(s *bmctest.Server) { s.SetPassword("other") }, []string{login, getRoot, getList}},
		{
			"account locked",
			func(s *bmctest.Server) { s.Handle(login, refuse(401, "Base.1.0.AccountLocked")) },
			[]string{login},
		},
		{"login forbidden", func(s *bmctest.Server) { s.Handle(login, refuse(403, "Base.1.0.AccessDenied")) }, []string{login, getRoot}},
		{
			"login refused with 400",
			func(s *bmctest.Server) { s.Handle(login, refuse(400, "iLO.0.10.UnauthorizedLoginAttempt")) },
			[]string{login, getRoot},
		},
		{
			"session that does not count",
			func(s *bmctest.Server) { s.Handle(getSystem, refuse(401, "Base.1.0.NoValidSession")) },
			[]string{login, getSystem},
		},
		{
			"Basic refused",
			func(s *bmctest.Server) { s.NoSessions(); s.SetPassword("other") },
			[]string{login, getRoot, getSystem},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			test.breaks(s)
			_, err := client(t, s).System(t.Context(), bmctest.System)
			if got := bmc.KindOf(err); got != bmc.KindAuthentication {
				t.Errorf("error %v, kind %q", err, got)
			}
			if diff := cmp.Diff(test.want, requests(s)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// Basic authentication is for BMCs that give no session, and for nothing else.
func TestBasicOnlyWithoutSessions(t *testing.T) {
	for _, test := range []struct {
		status int
		basic  bool
	}{{404, true}, {405, true}, {501, true}, {400, false}, {403, false}, {429, false}, {500, false}, {503, false}} {
		t.Run(http.StatusText(test.status), func(t *testing.T) {
			s := bmctest.New(t)
			s.Handle(login, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(test.status) })
			c := client(t, s)
			for range 2 {
				if _, err := c.System(t.Context(), bmctest.System); (err == nil) != test.basic {
					t.Errorf("error %v", err)
				}
			}
			basic := len(withPassword(s))
			if test.basic && (basic != 2 || s.Count(login) != 1) || !test.basic && basic != 0 {
				t.Errorf("%d requests with Basic authentication: %v", basic, requests(s))
			}
		})
	}
}

// Firmware from before Session v1.5.0 refuses the property Context.
func TestLoginWithoutContext(t *testing.T) {
	s := bmctest.New(t)
	var bodies []string
	s.Handle(login, func(w http.ResponseWriter, r *http.Request) {
		var in map[string]string
		_ = json.NewDecoder(r.Body).Decode(&in)
		bodies = append(bodies, in["Context"])
		if _, ok := in["Context"]; ok {
			bmctest.Fail(w, http.StatusBadRequest, "Base.1.0.PropertyUnknown")
			return
		}
		w.Header().Set("X-Auth-Token", "t")
		bmctest.JSON(w, http.StatusCreated, bmctest.Resource{})
	})
	s.Handle(getSystem, func(w http.ResponseWriter, _ *http.Request) {
		bmctest.JSON(w, 200, bmctest.ComputerSystem(bmctest.System))
	})
	if _, err := client(t, s).System(t.Context(), bmctest.System); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"farrier", ""}, bodies); diff != "" {
		t.Errorf("contexts (-want +got):\n%s", diff)
	}
}

// A killed process leaves sessions behind; those, and only those, make room.
func TestFullSessionTable(t *testing.T) {
	const at = "/redfish/v1/SessionService/Sessions/"
	for _, test := range []struct {
		name, id, ours string
		kind           bmc.Kind
	}{
		{"one of ours", "Base.1.8.SessionLimitExceeded", "farrier", ""},
		{"one of ours at a Dell", "IDRAC.2.4.RAC0218", "farrier", ""},
		{"none of ours", "Base.1.8.SessionLimitExceeded", "somebody", bmc.KindServer},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			s.Set("/redfish/v1/SessionService/Sessions", bmctest.Collection("", at+"a", at+"b"))
			s.Set(at+"a", bmctest.Resource{"@odata.id": at + "a", "Context": "somebody"})
			s.Set(at+"b", bmctest.Resource{"@odata.id": at + "b", "Context": test.ours})
			s.Handle(login, func(w http.ResponseWriter, _ *http.Request) { bmctest.Fail(w, http.StatusServiceUnavailable, test.id) })
			s.Handle("DELETE "+at+"b", func(w http.ResponseWriter, _ *http.Request) {
				s.Handle(login, nil)
				w.WriteHeader(http.StatusNoContent)
			})
			_, err := client(t, s).System(t.Context(), bmctest.System)
			if got := bmc.KindOf(err); got != test.kind {
				t.Errorf("error %v", err)
			}
			if n := s.Count("DELETE " + at + "a"); n != 0 {
				t.Error("somebody else's session was deleted")
			}
		})
	}
}
