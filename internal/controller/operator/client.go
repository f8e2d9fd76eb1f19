package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/identity"
)

const (
	// clientTimeout bounds one question, with the reviews that it costs.
	clientTimeout = 30 * time.Second
	// maxAnswer is far more than the record of a machine can be.
	maxAnswer = 4 << 20
)

// What a Client is refused for.
var (
	// ErrUnauthorized: nobody knows the user.
	ErrUnauthorized = errors.New("401 Unauthorized")
	// ErrForbidden: the user has no role that allows it.
	ErrForbidden = errors.New("403 Forbidden")
)

// Client asks at the operator address.
type Client struct {
	base   string
	http   *http.Client
	config *rest.Config
}

// UUID returns the canonical form of a system UUID and reports whether it identifies a machine.
func UUID(text string) (string, bool) {
	uuid := identity.MachineUUID(text)
	return uuid, uuid != ""
}

// NewClient makes a client that proves itself as that configuration does at the Kubernetes API: by its client certificate, its token or its
// credential plugin. Nothing else of the configuration counts.
func NewClient(config *rest.Config, at Address) (*Client, error) {
	base, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	if base.Scheme != "https" || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("%q is not an https URL", base.Redacted())
	}
	own := rest.CopyConfig(config)
	own.Host, own.Timeout, own.Impersonate = at.URL, clientTimeout, rest.ImpersonationConfig{}
	own.Insecure, own.ServerName, own.CAFile, own.CAData = false, "", "", at.CA
	h, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, err
	}
	// Credentials go where they were meant to go.
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: strings.TrimRight(at.URL, "/"), http: h, config: own}, nil
}

// Boots is what the newest boots of a machine asked for and were given. A machine that has never asked has none.
func (c *Client) Boots(ctx context.Context, uuid string) (Boots, error) {
	boots := Boots{SystemUUID: uuid}
	_, err := c.get(ctx, "/boots/"+url.PathEscape(uuid), &boots)
	return boots, err
}

// UnknownMachine is one that asked what to boot, and that there is nothing for.
type UnknownMachine = bootview.UnknownMachine

// Unknown are the machines that asked what to boot and that there is nothing for, the last one first.
func (c *Client) Unknown(ctx context.Context) ([]UnknownMachine, error) {
	var machines []UnknownMachine
	there, err := c.get(ctx, PathUnknown, &machines)
	if err == nil && !there {
		err = fmt.Errorf("GET %s: %s: the server is an older Farrier without this list", PathUnknown, http.StatusText(http.StatusNotFound))
	}
	return machines, err
}

// get decodes an answer, and reports whether there is one.
func (c *Client) get(ctx context.Context, path string, into any) (there bool, err error) {
	err = c.ask(ctx, http.MethodGet, path, into)
	if status := (*statusError)(nil); errors.As(err, &status) && status.code == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// ask decodes the answer of status 200. Any other status is ErrUnauthorized, ErrForbidden or a *statusError.
func (c *Client) ask(ctx context.Context, method, path string, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized:
		return ErrUnauthorized
	case http.StatusForbidden:
		return ErrForbidden
	default:
		return &statusError{method, path, answer.StatusCode}
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// statusError is an answer of a status that says neither yes nor who may not.
type statusError struct {
	method, path string
	code         int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s %s: %d %s", e.method, e.path, e.code, http.StatusText(e.code))
}
