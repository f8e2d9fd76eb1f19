package sim

import (
	"net/http"
	"testing"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// TestNoSessionToBeHad: what stands in the place of sessions, by fault; Basic authentication does all the same.
func TestNoSessionToBeHad(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	stranger := *c
	stranger.user = ""
	credentials := object{"UserName": c.user, "Password": c.password}
	offered := func() bool {
		t.Helper()
		_, has := stranger.want(http.StatusOK, http.MethodGet, rootURI, nil).body["SessionService"]
		return has
	}

	id := rack.inject(t, fault.Spec{Kind: fault.NoSessions, Value: "401"})
	if r := stranger.want(http.StatusUnauthorized, http.MethodPost, sessionsURI, credentials); r.header.Get("WWW-Authenticate") == "" || offered() {
		t.Errorf("a login without a session service: %v", r.header)
	}
	c.want(http.StatusNotFound, http.MethodPost, sessionsURI, credentials)
	c.want(http.StatusOK, http.MethodGet, systemURI, nil)
	rack.clear(t, id)

	id = rack.inject(t, fault.Spec{Kind: fault.SessionsRefused})
	stranger.want(http.StatusUnauthorized, http.MethodPost, sessionsURI, credentials)
	c.want(http.StatusUnauthorized, http.MethodPost, sessionsURI+"/Members", credentials)
	c.want(http.StatusOK, http.MethodGet, sessionsURI, nil)
	if !offered() {
		t.Error("refused sessions are not offered")
	}
	rack.clear(t, id)

	id = rack.inject(t, fault.Spec{Kind: fault.NoToken})
	if r := stranger.want(http.StatusCreated, http.MethodPost, sessionsURI, credentials); r.header.Get("X-Auth-Token") != "" || r.header.Get("Location") == "" {
		t.Errorf("a session without a token: %v", r.header)
	}
	rack.clear(t, id)
	if r := stranger.want(http.StatusCreated, http.MethodPost, sessionsURI, credentials); r.header.Get("X-Auth-Token") == "" {
		t.Error("no token afterwards")
	}
}
