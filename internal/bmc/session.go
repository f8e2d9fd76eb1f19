package bmc

import (
	"context"
	"net/http"
	"strings"
)

// sessionsPath is where services with sessions have them (DSP0266 §13.3.4).
const sessionsPath = "/redfish/v1/SessionService/Sessions"

// session is a login of ours at the BMC (DSP0266 §13.3.4).
type session struct {
	token Secret
	path  string // of the Session resource, "" where the BMC did not say
}

// sessionRequest holds the password in clear, so it never leaves login.
type sessionRequest struct {
	UserName string
	Password string
	Context  string `json:",omitempty"`
}

// authenticate sees to it that the client has a session, or knows that it
// needs none. fresh says that the session was made just now.
func (c *Client) authenticate(ctx context.Context) (fresh bool, err error) {
	if c.session != nil || c.basic != "" {
		return false, nil
	}
	return true, c.logIn(ctx)
}

func (c *Client) authorize(h http.Header) {
	switch {
	case c.session != nil:
		h.Set("X-Auth-Token", c.session.token.Reveal())
	case c.basic != "":
		c.authorizeBasic(h)
	}
}

func (c *Client) authorizeBasic(h http.Header) {
	r := http.Request{Header: h}
	r.SetBasicAuth(c.credentials.Username, c.credentials.Password.Reveal())
}

func (c *Client) login(ctx context.Context) error {
	r, a, err := c.postSession(ctx)
	if err != nil {
		return err
	}
	switch {
	case !c.noContext && refusesContext(a):
		// Session.Context is younger (Session v1.5.0) than much firmware, and some
		// of it refuses what it does not know.
		c.noContext = true
		r, a, err = c.postSession(ctx)
	case c.tableFull(a):
		room, refused := c.evictSessions(ctx)
		if refused != nil {
			return refused
		}
		if room {
			r, a, err = c.postSession(ctx)
		}
	}
	if err != nil {
		return err
	}
	if !a.ok() {
		return c.withoutSession(ctx, r, a)
	}
	token := a.header.Get("X-Auth-Token")
	if token == "" {
		return c.withoutToken(ctx, r, a)
	}
	c.session, c.hadSession = &session{token: Secret(token), path: sessionLocation(a)}, true
	return nil
}

// withoutToken goes on with Basic authentication where a session was made that nobody can use, and deletes that: it
// takes a place in the table.
func (c *Client) withoutToken(ctx context.Context, r call, a answer) error {
	if a.status != http.StatusCreated {
		return c.protocolError(r.op(), "session without X-Auth-Token") // or none at all: the page of a web server that starts
	}
	refused := c.protocolError(r.op(), "session without X-Auth-Token, and Basic authentication is refused")
	if err := c.tryBasic(ctx, BasicNoToken, refused); err != nil {
		return err
	}
	if path := sessionLocation(a); path != "" {
		_, _ = c.send(ctx, call{method: http.MethodDelete, path: path, label: "session", session: true}, c.authorizeBasic) // it ends by itself too
	}
	return nil
}

// refusesContext says that a login failed for its form. One that failed for its
// password must not be repeated.
func refusesContext(a answer) bool {
	id, _ := extendedInfo(a.body)
	return a.status == http.StatusBadRequest &&
		(id == "" || id == "GeneralError" || strings.HasPrefix(id, "Property") || strings.Contains(id, "Unrecognized"))
}

// loginError: whatever is wrong with a login that the BMC refuses, trying it again and
// again ends in a locked account.
func (c *Client) loginError(r call, a answer) *Error {
	e := c.statusError(r, a)
	if e.Kind == KindRejected && !c.tableFull(a) {
		e.Kind = KindAuthentication
	}
	return e
}

func (c *Client) postSession(ctx context.Context) (call, answer, error) {
	body := sessionRequest{UserName: c.credentials.Username, Password: c.credentials.Password.Reveal()}
	if !c.noContext {
		body.Context = c.options.Context
	}
	r := call{method: http.MethodPost, path: sessionsPath, body: body}
	a, err := c.send(ctx, r, nil)
	return r, a, err
}

// sessionLocation is where the session can be deleted: the Location header, or
// the body where firmware forgets the header.
func sessionLocation(a answer) string {
	if path, ok := resourcePath(a.header.Get("Location")); ok {
		return path
	}
	var body struct {
		ID text `json:"@odata.id"`
	}
	if decode(a.body, &body) == nil {
		if path, ok := resourcePath(string(body.ID)); ok {
			return path
		}
	}
	return ""
}

func (c *Client) logout(ctx context.Context) error {
	s := c.session
	if s == nil || s.path == "" {
		c.session = nil
		return nil
	}
	r := call{method: http.MethodDelete, path: s.path, label: "session", session: true, last: true}
	a, err := c.send(ctx, r, c.authorize)
	c.session = nil
	if err != nil {
		return err
	}
	// A session that is no more is what was wanted.
	if !a.ok() && a.status != http.StatusNotFound && a.status != http.StatusUnauthorized {
		return c.statusError(r, a)
	}
	return nil
}

// tableFull reports whether a login failed because the session table is full: the Base
// registry's message for it, and Dell's own.
func (c *Client) tableFull(a answer) bool {
	if a.ok() || a.status == http.StatusUnauthorized {
		return false
	}
	id, _ := extendedInfo(a.body)
	return strings.HasPrefix(id, "SessionLimitExceeded") || strings.HasPrefix(id, "CreateLimitReached") || id == "RAC0218"
}

// evictSessions deletes the sessions that an earlier process of ours left
// behind. They are known by their Context; nobody else's is touched. It tells
// whether there is room now, or that the password is refused: a BMC may look at its table before it
// looks at the password, and whoever tries again and again locks the account.
func (c *Client) evictSessions(ctx context.Context) (evicted bool, refused error) {
	list, err := c.readBasic(ctx, sessionsPath)
	if KindOf(err) == KindAuthentication {
		return false, err
	}
	if err != nil {
		return false, nil
	}
	for _, path := range list.paths() {
		member, err := c.readBasic(ctx, path)
		if err != nil || string(member.Context) != c.options.Context {
			continue
		}
		a, err := c.send(ctx, call{method: http.MethodDelete, path: path, label: "session", session: true}, c.authorizeBasic)
		evicted = evicted || err == nil && a.ok()
	}
	return evicted, nil
}

// sessionResource is a Session or the collection of them.
type sessionResource struct {
	collection
	Context text
}

func (c *Client) readBasic(ctx context.Context, path string) (sessionResource, error) {
	var resource sessionResource
	r := call{method: http.MethodGet, path: path}
	a, err := c.send(ctx, r, c.authorizeBasic)
	if err != nil {
		return resource, err
	}
	if !a.ok() {
		return resource, c.statusError(r, a)
	}
	if err := decode(a.body, &resource); err != nil {
		return resource, c.protocolError(r.op(), "%w", err)
	}
	return resource, nil
}
