package bmc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

const (
	// defaultBodyLimit is far above what any resource needs; attribute registries
	// are the largest, with about a megabyte.
	defaultBodyLimit = 4 << 20
	// maxRedirects is followed for a GET, on the BMC itself only.
	maxRedirects = 2
	// maxPath bounds the paths a BMC can make us ask for.
	maxPath = 1024
)

// Client speaks with one BMC. It may be used by several goroutines; its requests
// go one after the other.
type Client struct {
	endpoint Endpoint
	base     string
	options  Options
	clock    clock.Clock

	// turn holds one token: who has it may use what follows and the connection.
	turn        chan struct{}
	credentials *Credentials // a pointer, so that formatting a Client shows none
	session     *session     // nil: none yet
	hadSession  bool         // at least one was made
	basic       WhyBasic     // "": sessions do, or nothing is known yet
	basicTried  time.Time    // when Basic authentication was tried without success, zero: never
	careful     bool         // the password may be wrong: it is told once
	told        outcome      // of that
	noContext   bool         // the BMC refuses Session.Context
	service     *serviceRoot // nil: not read yet
	manager     managerPlace
	managerUUID string // of the manager that was chosen, "": the service's choice

	connection *connection

	met      atomic.Pointer[Vendor] // that of a system read before
	singly   atomic.Bool            // an answer with others in it was no good: each resource is asked for by itself
	busy     atomic.Bool            // the BMC asked for time when it was asked for such an answer last
	listed   listed
	lights   sync.Map // the Indicator that a chassis has in place of its system, by URI of that
	examined examination
}

// NewClient returns a client; nothing is sent yet.
func NewClient(endpoint Endpoint, credentials Credentials, options Options) *Client {
	options = options.withDefaults()
	c := &Client{
		endpoint:    endpoint,
		base:        endpoint.BaseURL(),
		options:     options,
		clock:       options.Clock,
		turn:        make(chan struct{}, 1),
		credentials: &credentials,
		careful:     options.Login != LoginFreely,
	}
	if options.Transport == nil {
		c.options.Transport = NewTransport(options)
	}
	if !options.Certificate.IsZero() {
		c.options.Transport = options.Certificate.transport(c.options.Transport)
	}
	c.connection = newConnection(endpoint, c.options)
	return c
}

// Endpoint returns where the BMC is.
func (c *Client) Endpoint() Endpoint { return c.endpoint }

// Format shows where a client speaks to and nothing else.
func (c *Client) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "bmc.Client(%s)", c.endpoint.Key())
}

// Close deletes the session, if there is one, and closes the connection. The client may be used again
// afterwards; it connects and logs in again then.
func (c *Client) Close(ctx context.Context) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.release()
	defer c.connection.close()
	return c.logout(ctx)
}

// call is a request to the BMC.
type call struct {
	method, path string
	body         any    // sent as JSON, nil: none
	form         *form  // sent in place of body, nil: none
	ifMatch      string // ETag, "": none
	of           string // the resource whose ETag that is, where it is not the path's
	label        string // stands for the path in errors, where that is nobody's business
	hide         Secret // in the body, and so in no error
	session      bool   // it is about a session, and changes nothing else
	last         bool   // nothing follows soon: the connection is closed after it
	expanded     bool   // the answer has other resources in it
}

func (r call) op() string {
	if r.label != "" {
		return r.method + " " + r.label
	}
	return r.method + " " + r.path
}

// answer is what came back, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) ok() bool { return a.status >= 200 && a.status < 300 }

func (c *Client) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return c.transportError("wait for the connection", ctx.Err())
	}
}

func (c *Client) release() { <-c.turn }

// do sends one request as the account it was given, logging in before where
// needed. The answer is a success, or there is an error.
func (c *Client) do(ctx context.Context, r call) (answer, error) {
	if err := c.take(ctx); err != nil {
		return answer{}, err
	}
	defer c.release()
	fresh, err := c.authenticate(ctx)
	if err != nil {
		return answer{}, err
	}
	a, err := c.exchange(ctx, r)
	if err != nil {
		return answer{}, err
	}
	// A session ends by its time-out, by a reset of the BMC or by somebody's hand. One
	// that ends as soon as it is made is not ours to repair.
	if c.session != nil && !fresh {
		c.examined.session(a.status == http.StatusUnauthorized)
	}
	if a.status == http.StatusUnauthorized && c.session != nil && !fresh {
		c.session = nil
		if _, err := c.authenticate(ctx); err != nil {
			return answer{}, err
		}
		if a, err = c.exchange(ctx, r); err != nil {
			return answer{}, err
		}
	}
	if !a.ok() {
		return answer{}, c.statusError(r, a)
	}
	return a, nil
}

// exchange sends r with whatever authentication the client has now, and follows
// redirects of a GET.
func (c *Client) exchange(ctx context.Context, r call) (answer, error) {
	for redirects := 0; ; redirects++ {
		a, err := c.send(ctx, r, c.authorize)
		if err != nil || a.status < 300 || a.status >= 400 || r.method != http.MethodGet || redirects == maxRedirects {
			return a, err
		}
		// http.Client would take our token along to wherever a BMC points to.
		location := a.header.Get("Location")
		path, ok := resourcePath(location)
		if !ok || !c.ours(location) {
			return a, nil
		}
		r.path = path
	}
}

// ours reports whether a location that may name a host names this BMC.
func (c *Client) ours(location string) bool {
	to, err := url.Parse(location)
	if err != nil || to.Host == "" {
		return err == nil
	}
	port, err := strconv.Atoi(to.Port())
	if err != nil && to.Port() != "" {
		return false
	}
	return Endpoint{Scheme: to.Scheme, Host: to.Hostname(), Port: port}.Key() == c.endpoint.Key()
}

// send does one request on the wire.
func (c *Client) send(ctx context.Context, r call, authorize func(http.Header)) (a answer, err error) {
	ctx, taken, cancel := c.limit(ctx, r)
	defer cancel()
	request, err := c.request(ctx, r)
	if err != nil {
		return answer{}, c.protocolError(r.op(), "%w", err)
	}
	sent, err := c.attach(ctx, r, request, taken)
	if err != nil {
		return answer{}, err
	}
	defer sent.detach()
	if authorize != nil {
		authorize(request.Header)
	}
	started := c.clock.Now()
	count(ctx)
	if c.options.OnRequest != nil {
		defer func() { c.tell(r, authorize == nil, c.clock.Since(started), a, err) }()
	}
	keep := false
	defer func() { c.connection.done(keep) }()
	response, err := c.connection.roundTrip(request)
	if err != nil {
		return answer{}, c.notSent(ctx, r, sent, c.failed(ctx, r, err))
	}
	defer func() { _ = response.Body.Close() }()
	limit := c.options.BodyLimit
	if r.expanded {
		limit = min(limit, expandedLimit)
	}
	body, err := readAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return answer{}, cutOff(c.failed(ctx, r, err))
	}
	now := c.clock.Now()
	if !r.expanded && r.form == nil { // those are the work of many answers
		c.examined.answer(now.Sub(started), c.options.RequestTimeout, response.Header, now)
	}
	if int64(len(body)) > limit {
		return answer{}, c.protocolError(r.op(), "answer is longer than %d bytes", limit)
	}
	keep = !response.Close && !r.last && sent.whole()
	return answer{status: response.StatusCode, header: response.Header, body: body}, nil
}

// failed prefers the context's word: what the network says of a request that ran
// out of time is "use of closed connection".
func (c *Client) failed(ctx context.Context, r call, err error) *Error {
	why := ctx.Err()
	if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
		why = cause // also where limit canceled it
	}
	if why != nil && !errors.Is(err, why) {
		err = fmt.Errorf("%w: %w", why, err)
	}
	return c.transportError(r.op(), err)
}

// cutOff tells an answer that stopped in its middle from one that never came.
func cutOff(e *Error) *Error {
	if e.Kind == KindTimeout {
		e.Message = "the answer stopped in the middle"
	}
	return e
}

func (c *Client) request(ctx context.Context, r call) (*http.Request, error) {
	if !strings.HasPrefix(r.path, "/") {
		return nil, fmt.Errorf("path %q does not start with a slash", r.path)
	}
	var body io.Reader
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("encode body: %w", err)
		}
		body = bytes.NewReader(b)
	}
	request, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, body)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", r.path, err)
	}
	request.Close = r.last
	h := request.Header
	h.Set("Accept", "application/json")
	h.Set("OData-Version", "4.0")
	h.Set("User-Agent", "farrier")
	if body != nil {
		h.Set("Content-Type", "application/json")
	}
	if r.ifMatch != "" {
		h.Set("If-Match", r.ifMatch)
	}
	return request, nil
}

func (c *Client) tell(r call, login bool, took time.Duration, a answer, err error) {
	kind := KindOf(err)
	if err == nil && !a.ok() {
		kind = c.statusError(r, a).Kind
	}
	c.options.OnRequest(Request{Method: r.method, Login: login, Duration: took, Kind: kind, Session: login || r.session, Host: c.endpoint.Host, Port: c.endpoint.Port, Op: r.op(), Status: a.status})
}

// get reads a resource into out. It returns the ETag of the header (DSP0266 §6.5).
func (c *Client) get(ctx context.Context, path string, out any) (etag string, err error) {
	r := call{method: http.MethodGet, path: path}
	a, err := c.do(ctx, r)
	if err != nil {
		return "", err
	}
	if err := decode(a.body, out); err != nil {
		return "", c.protocolError(r.op(), "%w", err)
	}
	return a.header.Get("ETag"), nil
}

// patch changes a resource.
func (c *Client) patch(ctx context.Context, path, etag string, body any) error {
	_, err := c.change(ctx, call{method: http.MethodPatch, path: path, body: body, ifMatch: etag})
	return err
}

// change sends what depends on an ETag. Where that no longer holds (412), or the BMC insists on
// one (428, RFC 6585 §3), the change is repeated once with the one that does.
func (c *Client) change(ctx context.Context, r call) (answer, error) {
	a, err := c.do(ctx, r)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.StatusCode != http.StatusPreconditionFailed && e.StatusCode != http.StatusPreconditionRequired {
		return a, err
	}
	of := r.of
	if of == "" {
		of = r.path
	}
	if r.ifMatch, err = c.etag(ctx, of); err != nil {
		return answer{}, err
	}
	return c.do(ctx, r)
}

// etag reads a resource for its ETag alone, which some BMCs give in the body only.
func (c *Client) etag(ctx context.Context, path string) (string, error) {
	var body struct {
		ETag text `json:"@odata.etag"`
	}
	header, err := c.get(ctx, path, &body)
	if err != nil {
		return "", err
	}
	if header != "" {
		return header, nil
	}
	return string(body.ETag), nil
}
