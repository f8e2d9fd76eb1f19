package bmc

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// LoginPolicy says how a client goes about a password that may be wrong: accounts lock after a few of those in a row.
type LoginPolicy string

const (
	// LoginFreely suits a password that should be right. Where a session is refused, the client tries Basic authentication once; it repeats
	// a login that the BMC did not answer.
	LoginFreely LoginPolicy = ""
	// LoginOnce tells the password to the BMC once. Only once the BMC has taken it does the client log in again.
	LoginOnce LoginPolicy = "Once"
	// LoginOnceBasic is LoginOnce at a BMC that refuses sessions and takes Basic authentication (BasicSessionsRefused). A session would be
	// one more login with the wrong password.
	LoginOnceBasic LoginPolicy = "OnceBasic"
)

// ErrLoginUnanswered marks the error of a login that the BMC did not answer. It may have refused it, so a careful client does not repeat it.
var ErrLoginUnanswered = errors.New("the BMC did not answer the login")

// outcome is why the login of a careful client failed, and when; the zero value: none did.
type outcome struct {
	err error
	at  time.Time
}

// carefulInterval is how long a careful client does not repeat a login that may have been refused.
const carefulInterval = basicInterval

// logIn logs in as the policy says. A client is careful, too, whose own password may have changed: where a change had no answer.
func (c *Client) logIn(ctx context.Context) error {
	if !c.careful {
		return c.login(ctx)
	}
	if c.told.err != nil && c.clock.Since(c.told.at) < carefulInterval {
		return c.told.err
	}
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	err := c.logInOnce(traced)
	c.learn(err)
	if kind := KindOf(err); sent.Load() && (kind == KindTimeout || kind == KindConnection) {
		c.told = outcome{unanswered(err), c.clock.Now()}
		return c.told.err
	}
	return err
}

func (c *Client) logInOnce(ctx context.Context) error {
	if c.options.Login != LoginOnceBasic {
		return c.login(ctx)
	}
	return c.tryBasic(ctx, BasicSessionsRefused, c.refusedBasic())
}

// refusedBasic is the error of a BMC that refuses Basic authentication.
func (c *Client) refusedBasic() *Error {
	return c.statusError(call{method: http.MethodGet, path: systemsPath}, answer{status: http.StatusUnauthorized})
}

func unanswered(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	marked := *e
	marked.Err = errors.Join(ErrLoginUnanswered, e.Err)
	return &marked
}

// trust ends the care: the BMC has taken the password.
func (c *Client) trust() { c.careful, c.told = false, outcome{} }

// learn takes over what came of a login with the client's own password, by whomever.
func (c *Client) learn(err error) {
	switch {
	case err == nil:
		c.trust()
	case KindOf(err) == KindAuthentication:
		c.careful, c.told = true, outcome{err, c.clock.Now()}
	}
}

// doubt makes the client careful after a change of its own password that may have been made.
func (c *Client) doubt(a Account, err error) {
	switch KindOf(err) {
	case KindTimeout, KindConnection, KindServer, KindProtocol:
		c.careful = c.careful || a.Username == c.credentials.Username
	}
}
