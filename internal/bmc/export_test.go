package bmc

import (
	"context"
	"net/http"
	"time"
)

// withoutQuirk takes one quirk each out of the table, for tests that show what happens then.
var withoutQuirk = map[string]func(*quirks){
	"boot mode only on change":   func(q *quirks) { q.mode = modeWherePresent },
	"boot mode always":           func(q *quirks) { q.mode = modeOnChange },
	"no Enabled with None":       func(q *quirks) { q.noEnabledWithNone = false },
	"boot in settings":           func(q *quirks) { q.bootInSettings = false },
	"no power button":            func(q *quirks) { q.noPowerButton = false },
	"POST means later":           func(q *quirks) { q.busy = nil },
	"account changed as a whole": func(q *quirks) { q.accountWhole = false },
	"accounts blanked":           func(q *quirks) { q.blankAccount = false },
	"characters of passwords":    func(q *quirks) { q.symbols = "\"\\'`\t" },
	"update without If-Match":    func(q *quirks) { q.updateUnconditional = false },
	"task that becomes a job":    func(q *quirks) { q.updateJob = false },
	"repeated subscription":      func(q *quirks) { q.repeated = "" },
	"$expand that is a lie":      func(q *quirks) { q.expandLies = false },
	"no delivery retry policy":   func(q *quirks) { q.noRetryPolicy = false },
}

// Without returns options for clients that do not know one quirk.
func Without(o Options, quirk string) Options {
	adjust, ok := withoutQuirk[quirk]
	if !ok {
		panic("no such quirk: " + quirk)
	}
	o.adjust = adjust
	return o
}

// Send is what a client does that knows no quirks: it sends what it is told and takes an error for
// an answer.
func (c *Client) Send(ctx context.Context, method, path, etag string, body any) error {
	_, err := c.do(ctx, call{method: method, path: path, ifMatch: etag, body: body})
	return err
}

// Members lists a collection.
func (c *Client) Members(ctx context.Context, path string) ([]string, error) {
	return c.members(ctx, path)
}

// Get reads a resource.
func (c *Client) Get(ctx context.Context, path string) (map[string]any, error) {
	a, err := c.do(ctx, call{method: http.MethodGet, path: path})
	if err != nil {
		return nil, err
	}
	var body map[string]any
	return body, decode(a.body, &body)
}

// Ours reports whether a location names this BMC.
func (c *Client) Ours(location string) bool { return c.ours(location) }

// SetRequestTimeout changes that of a client that is in use.
func (c *Client) SetRequestTimeout(d time.Duration) { c.options.RequestTimeout = d }
