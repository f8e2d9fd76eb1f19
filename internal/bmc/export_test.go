package bmc

import (
	"context"
	"net/http"
)

// bends take one way each out of the table, for tests that show what happens then.
var bends = map[string]func(*ways){
	"boot mode only on change":   func(w *ways) { w.mode = modeWherePresent },
	"boot mode always":           func(w *ways) { w.mode = modeOnChange },
	"no Enabled with None":       func(w *ways) { w.noEnabledWithNone = false },
	"boot in settings":           func(w *ways) { w.bootInSettings = false },
	"no power button":            func(w *ways) { w.noPowerButton = false },
	"POST means later":           func(w *ways) { w.busy = nil },
	"account changed as a whole": func(w *ways) { w.accountWhole = false },
	"accounts blanked":           func(w *ways) { w.blankAccount = false },
	"characters of passwords":    func(w *ways) { w.symbols = "\"\\'`\t" },
	"update without If-Match":    func(w *ways) { w.updateUnconditional = false },
	"task that becomes a job":    func(w *ways) { w.updateJob = false },
	"repeated subscription":      func(w *ways) { w.repeated = "" },
	"no delivery retry policy":   func(w *ways) { w.noRetryPolicy = false },
}

// Without returns options for clients without one way.
func Without(o Options, way string) Options {
	bend, ok := bends[way]
	if !ok {
		panic("no way is called " + way)
	}
	o.bend = bend
	return o
}

// Send is what a client does that knows no ways: it sends what it is told and takes an error for
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
