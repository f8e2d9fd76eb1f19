package bmctest

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/host/tcpstate"
)

// Username and Password are the account of a new server.
const (
	Username = "admin"
	Password = "marker-pässword-7"
)

// Resource is the JSON body of a resource.
type Resource = map[string]any

// Request is one that the server got.
type Request struct {
	Method  string
	Path    string
	Query   string
	Token   string
	Basic   bool
	IfMatch string
	Body    string
}

func (r Request) String() string { return r.Method + " " + r.Path }

// Server is a Redfish service.
type Server struct {
	HTTP *httptest.Server

	mu        sync.Mutex
	resources map[string]Resource
	versions  map[string]int
	handlers  map[string]http.HandlerFunc
	requests  []Request
	sessions  map[string]string // token by path of the session
	made      int
	password  string
	noSession bool
	inFlight  int
	peak      int
	conns     map[net.Conn]bool
	peakConns int
}

// New starts a server with one system and one manager. It ends with the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	s := build()
	s.HTTP.Start()
	tb.Cleanup(s.HTTP.Close)
	return s
}

// NewTLS starts one that speaks https with a certificate of its own authority.
func NewTLS(tb testing.TB) *Server {
	tb.Helper()
	return NewTLSWith(tb, nil)
}

// NewTLSWith starts one that speaks https as config says.
func NewTLSWith(tb testing.TB, config *tls.Config) *Server {
	tb.Helper()
	s := build()
	s.HTTP.TLS = config
	s.HTTP.StartTLS()
	tb.Cleanup(s.HTTP.Close)
	return s
}

func build() *Server {
	s := &Server{
		resources: standardResources(),
		versions:  map[string]int{},
		handlers:  map[string]http.HandlerFunc{},
		sessions:  map[string]string{},
		password:  Password,
		conns:     map[net.Conn]bool{},
	}
	s.HTTP = httptest.NewUnstartedServer(s)
	s.HTTP.Config.ConnState = s.connState
	s.HTTP.Config.ErrorLog = log.New(io.Discard, "", 0) // tests break handshakes on purpose
	return s
}

// Endpoint is where the server is.
func (s *Server) Endpoint() bmc.Endpoint {
	u, err := url.Parse(s.HTTP.URL)
	if err != nil {
		panic(err) // httptest made it
	}
	port, _ := strconv.Atoi(u.Port())
	return bmc.Endpoint{Scheme: u.Scheme, Host: u.Hostname(), Port: port}
}

// Credentials are the account's.
func (s *Server) Credentials() bmc.Credentials {
	return bmc.Credentials{Username: Username, Password: Password}
}

// SetPassword changes the account's password; sessions live on.
func (s *Server) SetPassword(password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.password = password
}

// NoSessions takes the session service away.
func (s *Server) NoSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noSession = true
}

// DropSessions ends all sessions, as a reset of the BMC does.
func (s *Server) DropSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// Set replaces a resource.
func (s *Server) Set(path string, r Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources[path] = r
	s.versions[path]++
}

// Update changes a resource in place.
func (s *Server) Update(path string, change func(Resource)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.resources[path])
	s.versions[path]++
}

// Delete removes a resource.
func (s *Server) Delete(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.resources, path)
}

// Handle puts a handler before "METHOD /path"; nil takes it away. Authentication
// is not checked before it.
func (s *Server) Handle(pattern string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h == nil {
		delete(s.handlers, pattern)
		return
	}
	s.handlers[pattern] = h
}

// Requests returns all requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count returns how many requests were "METHOD /path".
func (s *Server) Count(pattern string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.String() == pattern {
			n++
		}
	}
	return n
}

// Sessions returns how many sessions are open.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// Peaks returns the most requests and connections there were at a time.
func (s *Server) Peaks() (requests, connections int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak, s.peakConns
}

// Connections returns how many are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *Server) connState(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[c] = true
		held := s.held()
		for end := time.Now().Add(late); held > 1 && time.Now().Before(end); held = s.held() {
			time.Sleep(time.Millisecond)
		}
		s.peakConns = max(s.peakConns, held)
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, c)
	}
}

// late is how long the kernel of a busy host may take to deliver the end of a connection, on another processor than the beginning of
// the one after it.
const late = 100 * time.Millisecond

// held counts the connections that the client has not closed: the server may
// learn of the end of one after the beginning of the next.
func (s *Server) held() int {
	n := 0
	for c := range s.conns {
		if len(s.conns) == 1 || !tcpstate.ClosedByPeer(c) {
			n++
		}
	}
	return n
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	_, _, basic := r.BasicAuth()
	record := Request{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Token: r.Header.Get("X-Auth-Token"),
		Basic: basic, IfMatch: r.Header.Get("If-Match"), Body: string(body),
	}
	s.mu.Lock()
	s.requests = append(s.requests, record)
	s.inFlight++
	s.peak = max(s.peak, s.inFlight)
	handler := s.handlers[record.String()]
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	if handler != nil {
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		handler(w, r)
		return
	}
	s.serve(w, r, body)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, sessions) && s.noSession {
		Fail(w, http.StatusNotFound, "Base.1.8.ResourceMissingAtURI")
		return
	}
	if r.Method == http.MethodPost && r.URL.Path == sessions {
		s.login(w, body)
		return
	}
	// Everybody may read the service root.
	if !s.allowed(r) && (r.Method != http.MethodGet || r.URL.Path != Root) {
		Fail(w, http.StatusUnauthorized, "Base.1.8.NoValidSession")
		return
	}
	if _, ok := s.sessions[r.URL.Path]; ok && r.Method == http.MethodDelete {
		delete(s.sessions, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, resetAction) {
		s.reset(w, r, body)
		return
	}
	resource, ok := s.resources[r.URL.Path]
	if !ok {
		Fail(w, http.StatusNotFound, "Base.1.8.ResourceMissingAtURI")
		return
	}
	etag := fmt.Sprintf("%q", strconv.Itoa(s.versions[r.URL.Path]))
	switch r.Method {
	case http.MethodGet:
		w.Header().Set("ETag", etag)
		JSON(w, http.StatusOK, resource)
	case http.MethodPatch:
		s.patch(w, r, body, resource, etag)
	default:
		Fail(w, http.StatusMethodNotAllowed, "Base.1.8.OperationNotAllowed")
	}
}

func (s *Server) login(w http.ResponseWriter, body []byte) {
	var in struct{ UserName, Password, Context string }
	_ = json.Unmarshal(body, &in)
	if in.UserName != Username || in.Password != s.password {
		Fail(w, http.StatusUnauthorized, "Base.1.8.ResourceAtUriUnauthorized")
		return
	}
	s.made++
	path := sessions + "/" + strconv.Itoa(s.made)
	token := fmt.Sprintf("marker-token-%d", s.made)
	s.sessions[path] = token
	w.Header().Set("X-Auth-Token", token)
	w.Header().Set("Location", path)
	JSON(w, http.StatusCreated, Resource{"@odata.id": path, "Context": in.Context})
}

func (s *Server) allowed(r *http.Request) bool {
	if user, password, ok := r.BasicAuth(); ok {
		return user == Username && password == s.password
	}
	token := r.Header.Get("X-Auth-Token")
	return slices.Contains(slices.Collect(maps.Values(s.sessions)), token)
}

func (s *Server) patch(w http.ResponseWriter, r *http.Request, body []byte, resource Resource, etag string) {
	if want := r.Header.Get("If-Match"); want != "" && want != etag {
		Fail(w, http.StatusPreconditionFailed, "Base.1.8.PreconditionFailed")
		return
	}
	var change Resource
	if err := json.Unmarshal(body, &change); err != nil {
		Fail(w, http.StatusBadRequest, "Base.1.8.MalformedJSON")
		return
	}
	merge(resource, change)
	s.versions[r.URL.Path]++
	w.WriteHeader(http.StatusNoContent)
}

func merge(into, from Resource) {
	for k, v := range from {
		if inner, ok := v.(Resource); ok {
			if old, ok := into[k].(Resource); ok {
				merge(old, inner)
				continue
			}
		}
		into[k] = v
	}
}

// reset changes the power at once.
func (s *Server) reset(w http.ResponseWriter, r *http.Request, body []byte) {
	path := strings.TrimSuffix(r.URL.Path, resetAction)
	var in struct{ ResetType string }
	_ = json.Unmarshal(body, &in)
	power := "On"
	if in.ResetType == "ForceOff" || in.ResetType == "GracefulShutdown" {
		power = "Off"
	}
	if system, ok := s.resources[path]; ok {
		system["PowerState"] = power
		s.versions[path]++
	}
	w.WriteHeader(http.StatusNoContent)
}

// JSON answers with a body.
func JSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// Fail answers with a Redfish error.
func Fail(w http.ResponseWriter, status int, messageID string) {
	JSON(w, status, Resource{"error": Resource{
		"code":                  "Base.1.8.GeneralError",
		"message":               "A general error has occurred.",
		"@Message.ExtendedInfo": []Resource{{"MessageId": messageID, "Message": "Words of " + messageID + "."}},
	}})
}
