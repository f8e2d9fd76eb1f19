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
	base string
	http *http.Client
}

// UUID is a machine's UUID, of any spelling, as it is asked for.
func UUID(text string) (string, bool) {
	uuid, err := identity.UUID(text)
	return uuid, err == nil
}

// NewClient makes a client that proves itself as that configuration does at the Kubernetes API: by its client certificate, its token or its
// credential plugin. Nothing else of the configuration counts.
func NewClient(config *rest.Config, at Address) (*Client, error) {
	base, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	if base.Scheme != "https" || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("%q is no https URL of a server", base.Redacted())
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
	return &Client{base: strings.TrimRight(at.URL, "/"), http: h}, nil
}

// Boots is what the newest boots of a machine asked for and were given. A machine that has never asked has none.
func (c *Client) Boots(ctx context.Context, uuid string) (Boots, error) {
	none := Boots{SystemUUID: uuid}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/boots/"+url.PathEscape(uuid), nil)
	if err != nil {
		return none, err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return none, err
	}
	defer func() { _ = answer.Body.Close() }()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return none, nil
	case http.StatusUnauthorized:
		return none, ErrUnauthorized
	case http.StatusForbidden:
		return none, ErrForbidden
	default:
		return none, fmt.Errorf("GET /boots/%s: %s", uuid, answer.Status)
	}
	var boots Boots
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&boots); err != nil {
		return none, fmt.Errorf("GET /boots/%s: %w", uuid, err)
	}
	return boots, nil
}
