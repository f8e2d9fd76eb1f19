package bmc

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// WhyBasic says why a BMC gets the password with every request, which is a login each time in its log.
type WhyBasic string

const (
	// BasicNoSessions: the BMC offers no sessions.
	BasicNoSessions WhyBasic = "NoSessions"
	// BasicSessionsRefused: the BMC offers sessions, and refuses one to an account that it lets in otherwise.
	BasicSessionsRefused WhyBasic = "SessionsRefused"
	// BasicNoToken: the BMC makes sessions without a token to use them by.
	BasicNoToken WhyBasic = "NoToken"
)

// basicInterval is how long a client that was refused with Basic authentication too does not try it again. A wrong
// password looks the same, and accounts lock after a few of those.
const basicInterval = time.Hour

// useBasic has all requests from now on authenticated that way.
func (c *Client) useBasic(why WhyBasic) {
	c.basic = why
	c.examined.mu.Lock()
	defer c.examined.mu.Unlock()
	c.examined.basic = why
}

// withoutSession finds out what a refused login means: that there are no sessions at this BMC, or that the account is
// not good. What the service root offers decides; where it offers sessions, and the account alone was refused, Basic
// authentication is tried once. A client that had a session knows what a refusal means, and a careful one does not try.
func (c *Client) withoutSession(ctx context.Context, r call, a answer) error {
	refused := c.loginError(r, a)
	absent := a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed || a.status == http.StatusNotImplemented
	switch {
	case absent:
	case a.status != http.StatusBadRequest && a.status != http.StatusUnauthorized && a.status != http.StatusForbidden,
		c.tableFull(a), accountLocked(refused), c.triedBasic():
		return refused
	}
	offered, err := c.offersSessions(ctx)
	switch {
	case err != nil:
		return err
	case (!offered || absent) && c.careful:
		return c.tryBasic(ctx, BasicNoSessions, c.refusedBasic()) // one request tells, before others repeat the password
	case !offered, absent:
		c.useBasic(BasicNoSessions)
		return nil
	case c.hadSession || c.careful || a.status != http.StatusUnauthorized:
		c.basicTried = c.clock.Now() // not tried, but looked at: once is enough for a while
		return refused
	}
	return c.tryBasic(ctx, BasicSessionsRefused, refused)
}

// triedBasic reports whether Basic authentication was refused not long ago.
func (c *Client) triedBasic() bool {
	return !c.basicTried.IsZero() && c.clock.Since(c.basicTried) < basicInterval
}

// offersSessions reports whether the service root, which everybody may read (DSP0266, "Service root request"), leads to
// sessions. What has none is no Redfish service, or none yet: a BMC that starts answers 404 to everything, and is not to
// be given its password with every request ever after.
func (c *Client) offersSessions(ctx context.Context) (bool, error) {
	root := c.service
	if root == nil {
		r := call{method: http.MethodGet, path: rootPath}
		a, err := c.send(ctx, r, func(http.Header) {})
		switch {
		case err != nil:
			return false, err
		case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
			return true, nil // against the standard; a login's own answer is the better one then
		case !a.ok():
			return false, c.statusError(r, a)
		}
		root = &serviceRoot{}
		if err := decode(a.body, root); err != nil {
			return false, c.protocolError(r.op(), "%w", err)
		}
		if root.ID == "" && root.Version == "" && root.Systems == "" {
			return false, c.protocolError(r.op(), noServiceRoot)
		}
	}
	return root.SessionService != "" || root.Links.Sessions != "", nil
}

// tryBasic reads what every service has with Basic authentication. Where that is refused too, refused is why.
func (c *Client) tryBasic(ctx context.Context, why WhyBasic, refused error) error {
	if c.triedBasic() {
		return refused
	}
	c.basicTried, c.basic = c.clock.Now(), why
	r := call{method: http.MethodGet, path: systemsPath}
	a, err := c.exchange(ctx, r)
	switch {
	case err != nil:
	case a.status == http.StatusUnauthorized:
		c.basic = ""
		return refused
	case a.status == http.StatusTooManyRequests, a.status >= http.StatusInternalServerError:
		err = c.statusError(r, a)
	case a.ok() && decode(a.body, &struct{}{}) != nil:
		err = c.protocolError(r.op(), "body is no JSON object")
	default:
		c.useBasic(why)
		return nil
	}
	c.basicTried, c.basic = time.Time{}, "" // nobody looked at the password
	return err
}

// accountLocked reports whether a login failed for an account that is locked: another attempt keeps it so.
func accountLocked(e *Error) bool { return strings.Contains(e.MessageID, "AccountLocked") }
