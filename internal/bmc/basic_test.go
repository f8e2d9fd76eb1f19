package bmc_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// withPassword are the requests that came with Basic authentication.
func withPassword(s *bmctest.Server) (list []string) {
	for _, r := range s.Requests() {
		if r.Basic {
			list = append(list, r.String())
		}
	}
	return list
}

// unauthorized refuses a login, whatever the password.
func unauthorized(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("WWW-Authenticate", `Basic realm="Contoso"`)
	bmctest.Fail(w, http.StatusUnauthorized, "Base.1.0.GeneralError")
}

// offersNoSessions takes the links to them out of the service root.
func offersNoSessions(s *bmctest.Server) {
	s.Update(bmctest.Root, func(r bmctest.Resource) {
		delete(r, "SessionService")
		delete(r, "Links")
	})
}

// Whatever a BMC has in place of sessions that work, it is spoken to, and the password is tried no more often than that takes.
func TestBasicWhereNoSessionIsToBeHad(t *testing.T) {
	const first = "DELETE /redfish/v1/SessionService/Sessions/1"
	for _, test := range []struct {
		name   string
		breaks func(*bmctest.Server)
		want   []string
		basic  []string
	}{
		{
			"the service root offers none, and the rest of the service wants Basic authentication", // sushy-tools
			func(s *bmctest.Server) { offersNoSessions(s); s.Handle(login, unauthorized) },
			[]string{login, getRoot, getSystem, getSystem}, []string{getSystem, getSystem},
		},
		{
			"the service root offers none, and a login is 403",
			func(s *bmctest.Server) { offersNoSessions(s); s.Handle(login, fails(http.StatusForbidden)) },
			[]string{login, getRoot, getSystem, getSystem}, []string{getSystem, getSystem},
		},
		{
			"they are offered and refused",
			func(s *bmctest.Server) { s.Handle(login, unauthorized) },
			[]string{login, getRoot, getList, getSystem, getSystem}, []string{getList, getSystem, getSystem},
		},
		{
			"the service root cannot be read",
			func(s *bmctest.Server) { s.Handle(login, unauthorized); s.Handle(getRoot, unauthorized) },
			[]string{login, getRoot, getList, getSystem, getSystem}, []string{getList, getSystem, getSystem},
		},
		{
			"they have no token", // metal-operator's mock
			func(s *bmctest.Server) {
				s.Handle(login, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", "/redfish/v1/SessionService/Sessions/1")
					bmctest.JSON(w, http.StatusCreated, bmctest.Resource{})
				})
			},
			[]string{login, getList, first, getSystem, getSystem}, []string{getList, first, getSystem, getSystem},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			test.breaks(s)
			c := client(t, s)
			for range 2 {
				if _, err := c.System(t.Context(), bmctest.System); err != nil {
					t.Error(err)
				}
			}
			if diff := cmp.Diff(test.want, requests(s)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.basic, withPassword(s)); diff != "" {
				t.Errorf("with Basic authentication (-want +got):\n%s", diff)
			}
		})
	}
}

// A wrong password looks like sessions that are refused. Accounts lock after a few of those.
func TestAWrongPasswordIsTriedWithBasicOnceAnHour(t *testing.T) {
	s := bmctest.New(t)
	s.SetPassword("other")
	clock := testclock.NewFakeClock(time.Now())
	c := bmc.NewClient(s.Endpoint(), s.Credentials(), bmc.Options{Clock: clock})
	for minutes := 0; minutes < 120; minutes += 10 {
		if _, err := c.System(t.Context(), bmctest.System); bmc.KindOf(err) != bmc.KindAuthentication {
			t.Errorf("error %v", err)
		}
		clock.Step(10 * time.Minute)
	}
	if logins, basic := s.Count(login), len(withPassword(s)); logins != 12 || basic != 2 {
		t.Errorf("in two hours %d logins and %d requests with Basic authentication, want 12 and 2", logins, basic)
	}
	s.SetPassword(bmctest.Password)
	if _, err := c.System(t.Context(), bmctest.System); err != nil || s.Sessions() != 1 {
		t.Errorf("with the right password: %d sessions, %v", s.Sessions(), err)
	}
}

// A session that was had is what the BMC offers: a refusal after that is one of the password.
func TestNoBasicAfterASession(t *testing.T) {
	s := bmctest.New(t)
	c := client(t, s)
	if _, err := c.System(t.Context(), bmctest.System); err != nil {
		t.Fatal(err)
	}
	s.DropSessions()
	s.SetPassword("other")
	for range 2 {
		if _, err := c.System(t.Context(), bmctest.System); bmc.KindOf(err) != bmc.KindAuthentication {
			t.Errorf("error %v", err)
		}
	}
	if basic := withPassword(s); len(basic) != 0 {
		t.Errorf("with Basic authentication: %v", basic)
	}
}

// A session without a token that Basic authentication does not make up for is a fault of the BMC, not of the account.
func TestASessionWithoutTokenAndNoBasic(t *testing.T) {
	s := bmctest.New(t)
	s.Handle(login, func(w http.ResponseWriter, _ *http.Request) { bmctest.JSON(w, http.StatusCreated, bmctest.Resource{}) })
	s.Handle(getList, unauthorized)
	c := client(t, s)
	for range 3 {
		if _, err := c.System(t.Context(), bmctest.System); bmc.KindOf(err) != bmc.KindProtocol {
			t.Errorf("error %v", err)
		}
	}
	if basic := withPassword(s); len(basic) != 1 {
		t.Errorf("with Basic authentication: %v", basic)
	}
}

// Something that fails while Basic authentication is tried says nothing of the password.
func TestBasicIsTriedAgainWhereTheBMCFailed(t *testing.T) {
	s := bmctest.New(t)
	s.Handle(login, unauthorized)
	s.Handle(getList, fails(http.StatusServiceUnavailable))
	c := client(t, s)
	if _, err := c.System(t.Context(), bmctest.System); bmc.KindOf(err) != bmc.KindServer {
		t.Errorf("error %v", err)
	}
	s.Handle(getList, nil)
	if _, err := c.System(t.Context(), bmctest.System); err != nil {
		t.Error(err)
	}
}

// A BMC that starts is none without sessions: it answers 404 to everything, or shows a page, and then it is there.
func TestABMCThatStartsIsNoneWithoutSessions(t *testing.T) {
	page := raw("<!DOCTYPE html><title>Starting</title>")
	for name, starts := range map[string]func(*bmctest.Server){
		"nothing is there": func(s *bmctest.Server) {
			for _, pattern := range []string{login, getRoot, getList, getSystem} {
				s.Handle(pattern, fails(http.StatusNotFound))
			}
		},
		"pages": func(s *bmctest.Server) {
			for _, pattern := range []string{login, getRoot, getList, getSystem} {
				s.Handle(pattern, page)
			}
		},
		"no login, and pages": func(s *bmctest.Server) {
			s.Handle(login, unauthorized)
			s.Handle(getRoot, unauthorized)
			s.Handle(getList, page)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := bmctest.New(t)
			starts(s)
			c := client(t, s)
			if _, err := c.System(t.Context(), bmctest.System); err == nil || bmc.KindOf(err) == bmc.KindAuthentication {
				t.Errorf("while it starts: %v", err)
			}
			for _, pattern := range []string{login, getRoot, getList, getSystem} {
				s.Handle(pattern, nil)
			}
			if _, err := c.System(t.Context(), bmctest.System); err != nil || s.Sessions() != 1 || c.Symptoms().Basic != "" {
				t.Errorf("%d sessions, %q, %v", s.Sessions(), c.Symptoms().Basic, err)
			}
		})
	}
}

// Other credentials are verified in the way that the BMC takes.
func TestVerifyWithBasic(t *testing.T) {
	for name, breaks := range map[string]func(*bmctest.Server){
		"sessions refused": func(s *bmctest.Server) { s.Handle(login, unauthorized) },
		"none offered":     func(s *bmctest.Server) { offersNoSessions(s); s.Handle(login, unauthorized) },
	} {
		t.Run(name, func(t *testing.T) {
			s := bmctest.New(t)
			breaks(s)
			c := client(t, s)
			if err := c.Verify(t.Context(), s.Credentials()); err != nil {
				t.Error(err)
			}
			if err := c.Verify(t.Context(), bmc.Credentials{Username: bmctest.Username, Password: "other"}); bmc.KindOf(err) != bmc.KindAuthentication {
				t.Errorf("another password: %v", err)
			}
			if n := s.Count(login); n != 1 {
				t.Errorf("%d logins: what is known of the BMC is found out again", n)
			}
		})
	}
}

// Everything works at BMCs without sessions, and the client says how they are spoken to.
func TestBasicAtTheSimulator(t *testing.T) {
	for _, test := range []struct {
		kind  fault.Kind
		value string
		want  bmc.WhyBasic
	}{
		{fault.NoSessions, "404", bmc.BasicNoSessions}, {fault.NoSessions, "401", bmc.BasicNoSessions},
		{fault.SessionsRefused, "", bmc.BasicSessionsRefused}, {fault.NoToken, "", bmc.BasicNoToken},
	} {
		t.Run(string(test.kind)+test.value, func(t *testing.T) {
			r := newRack(t, sim.Standard, 1)
			r.strike(fault.Spec{Kind: test.kind, Value: test.value})
			for name, try := range map[string]attempt{"boot": boots(bmc.BootPXE, bmc.BootNone), "account": account, "log": readLog} {
				c := r.client(bmc.Options{})
				if err := try(t.Context(), r, c); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if got := c.Symptoms().Basic; got != test.want {
					t.Errorf("%s: %q, want %q", name, got, test.want)
				}
			}
			if s := r.Stats(0); s.BasicLogins == 0 {
				t.Errorf("the BMC counted %+v", s)
			}
			if left, err := r.client(bmc.Options{}).Members(t.Context(), "/redfish/v1/SessionService/Sessions"); len(left) != 0 {
				t.Errorf("sessions left: %v, %v", left, err)
			}
		})
	}
	r := newRack(t, sim.Standard, 1)
	c := r.client(bmc.Options{})
	ask(t, c, 1)
	if got := c.Symptoms().Basic; got != "" {
		t.Errorf("with a session: %q", got)
	}
}
