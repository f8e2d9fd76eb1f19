package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/console"
)

// PathConsole is where the serial console of a Server is, by WebSocket. With ?read-only the right to read is enough, with ?take the viewer writes in
// place of whoever does.
const PathConsole = "/console/"

const (
	// maxConsoles is how many viewers there are at a time, and maxConsolesEach how many of one user.
	maxConsoles     = 256
	maxConsolesEach = 16
)

// ConsoleAttributes are what somebody has to be allowed for the console of a server: get on servers/console to read, create to write as well.
func ConsoleAttributes(server string, write bool) *authorizationv1.ResourceAttributes {
	verb := "get"
	if write {
		verb = "create"
	}
	return &authorizationv1.ResourceAttributes{Group: metalv1.GroupVersion.Group, Version: metalv1.GroupVersion.Version, Resource: "servers", Subresource: "console", Name: server, Verb: verb}
}

// consoleOf is the server whose console a request is for.
func consoleOf(r *http.Request) (string, bool) {
	name, ok := strings.CutPrefix(r.URL.Path, PathConsole)
	return name, ok && len(validation.IsDNS1123Subdomain(name)) == 0
}

func readOnly(r *http.Request) bool { return r.URL.Query().Has("read-only") }

// userKey has the user of a request in its context.
type userKey struct{}

// serveConsole answers GET /console/{server}.
func (s *Server) serveConsole(w http.ResponseWriter, r *http.Request) {
	server, ok := consoleOf(r)
	user, known := r.Context().Value(userKey{}).(authenticationv1.UserInfo)
	if !ok || !known {
		http.NotFound(w, r)
		return
	}
	write := !readOnly(r)
	s.Watch(w, r, server, console.Access{
		User: user.Username, Write: write, Take: write && r.URL.Query().Has("take"),
		Recheck: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, askTimeout)
			defer cancel()
			_, err := s.authorize(ctx, r)
			return err
		},
	})
}

// Watch has the WebSocket of a request watch the console of a server, unless too many are watched already. What access says, the caller has found out.
func (s *Server) Watch(w http.ResponseWriter, r *http.Request, server string, access console.Access) {
	if s.Console == nil || len(validation.IsDNS1123Subdomain(server)) > 0 {
		http.NotFound(w, r)
		return
	}
	if !s.viewers.enter(access.User) {
		http.Error(w, "too many consoles are open", http.StatusTooManyRequests)
		return
	}
	defer s.viewers.exit(access.User)
	s.Console.Serve(w, r, server, access)
}

// viewers counts who watches consoles.
type viewers struct {
	mu    sync.Mutex
	total int
	of    map[string]int
}

func (v *viewers) enter(user string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.total >= maxConsoles || v.of[user] >= maxConsolesEach {
		return false
	}
	if v.of == nil {
		v.of = map[string]int{}
	}
	v.total++
	v.of[user]++
	return true
}

func (v *viewers) exit(user string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.total--
	if v.of[user]--; v.of[user] == 0 {
		delete(v.of, user)
	}
}

// Console connects with the console of a Server.
func (c *Client) Console(ctx context.Context, server string, readOnly, take bool) (*websocket.Conn, error) {
	at := c.base + PathConsole + url.PathEscape(server)
	switch {
	case readOnly:
		at += "?read-only"
	case take:
		at += "?take"
	}
	config, err := rest.TLSConfigFor(c.config)
	if err != nil {
		return nil, err
	}
	upgrade := &upgrade{dialer: websocket.Dialer{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, HandshakeTimeout: clientTimeout, Subprotocols: []string{console.Protocol},
	}}
	round, err := rest.HTTPWrappersForConfig(c.config, upgrade)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "wss"+strings.TrimPrefix(at, "https"), nil)
	if err != nil {
		return nil, err
	}
	answer, err := round.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	return upgrade.conn, answer.Body.Close()
}

// upgrade is the round trip that opens a WebSocket, so that the credentials of a kubeconfig are those of every other request.
type upgrade struct {
	dialer websocket.Dialer
	conn   *websocket.Conn
}

// ErrNoConsole says that the server at the operator address has no consoles.
var ErrNoConsole = errors.New("404 Not Found: the server is an older Farrier without consoles")

// RoundTrip implements http.RoundTripper.
func (u *upgrade) RoundTrip(r *http.Request) (*http.Response, error) {
	conn, answer, err := u.dialer.DialContext(r.Context(), r.URL.String(), r.Header)
	if err == nil {
		u.conn = conn
		return answer, nil
	}
	if answer == nil {
		return nil, err
	}
	_ = answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		return nil, ErrUnauthorized
	case http.StatusForbidden:
		return nil, ErrForbidden
	case http.StatusNotFound:
		return nil, ErrNoConsole
	}
	return nil, fmt.Errorf("GET %s: %s", r.URL.Path, answer.Status)
}
