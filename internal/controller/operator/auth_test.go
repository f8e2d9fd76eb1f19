package operator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/test/certificate"
)

// authority signs certificates for a test.
type authority struct {
	t *testing.T
	certificate.Pair
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	return &authority{t, certificate.SelfSigned(t, func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: name} })}
}

func (a *authority) serving() tls.Certificate {
	a.t.Helper()
	return a.Sign(a.t, func(c *x509.Certificate) {
		c.IPAddresses, c.ExtKeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}).TLS(a.t)
}

func (a *authority) client(subject pkix.Name, change ...func(*x509.Certificate)) *tls.Certificate {
	a.t.Helper()
	signed := a.Sign(a.t, func(c *x509.Certificate) {
		c.Subject, c.ExtKeyUsage = subject, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		for _, f := range change {
			f(c)
		}
	}).TLS(a.t)
	return &signed
}

// asked remembers the reviews that a server asks for.
type asked struct {
	reviewing
	reviews []authorizationv1.SubjectAccessReviewSpec
}

func (c *asked) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if o, ok := obj.(*authorizationv1.SubjectAccessReview); ok {
		c.reviews = append(c.reviews, o.Spec)
	}
	return c.reviewing.Create(ctx, obj, opts...)
}

// listen serves s, and returns its URL.
func listen(t *testing.T, s *Server, identity Identity) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l, identity) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "https://" + l.Addr().String()
}

func TestWhoMayAsk(t *testing.T) {
	known, foreign := newAuthority(t, "known"), newAuthority(t, "foreign")
	s := newServer(t)
	api := &asked{reviewing: s.API.(reviewing)}
	s.API = api
	base := listen(t, s, Identity{Certificate: known.serving(), ClientCAs: known.Pool()})
	expired := func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	}
	serverOnly := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }
	reader := pkix.Name{CommonName: "reader", Organization: []string{"site-a", "site-b"}}
	for _, c := range []struct {
		name   string
		cert   *tls.Certificate
		token  string
		status int      // 0: the handshake fails
		user   string   // who is reviewed
		groups []string // with
	}{
		{"nothing", nil, "", 401, "", nil},
		{"a certificate", known.client(reader), "", 200, "reader", []string{"site-a", "site-b", groupAuthenticated}},
		{"a certificate without groups", known.client(pkix.Name{CommonName: "reader"}), "", 200, "reader", []string{groupAuthenticated}},
		{"a certificate that names the group", known.client(pkix.Name{CommonName: "reader", Organization: []string{groupAuthenticated}}), "", 200, "reader", []string{groupAuthenticated}},
		{"a certificate of somebody without rights", known.client(pkix.Name{CommonName: "nobody", Organization: []string{"site-a"}}), "", 403, "nobody", []string{"site-a", groupAuthenticated}},
		{"a certificate of nobody", known.client(pkix.Name{Organization: []string{"system:masters"}}), "", 401, "", nil},
		{"a certificate of nobody, and a token", known.client(pkix.Name{}), "reader-token", 200, "reader", nil},
		{"a certificate of another authority", foreign.client(reader), "", 0, "", nil},
		{"a certificate of another authority, and a token", foreign.client(reader), "reader-token", 0, "", nil},
		{"an expired certificate", known.client(reader, expired), "", 0, "", nil},
		{"a certificate for servers", known.client(reader, serverOnly), "", 0, "", nil},
		{"a token", nil, "reader-token", 200, "reader", nil},
		{"a wrong token", nil, "guess", 401, "", nil},
		{"a certificate counts more than a token", known.client(pkix.Name{CommonName: "nobody"}), "admin-token", 403, "nobody", []string{groupAuthenticated}},
	} {
		t.Run(c.name, func(t *testing.T) {
			api.reviews = nil
			if status := ask(t, base, known, c.cert, c.token); status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			api.check(t, c.user, c.groups)
		})
	}
}

// check compares whom the Kubernetes API was asked about; empty: nobody.
func (c *asked) check(t *testing.T, user string, groups []string) {
	t.Helper()
	if user == "" {
		if len(c.reviews) != 0 {
			t.Errorf("reviewed: %+v", c.reviews)
		}
		return
	}
	if len(c.reviews) != 1 || c.reviews[0].User != user || c.reviews[0].NonResourceAttributes.Path != "/boots/"+uuid {
		t.Fatalf("reviewed: %+v", c.reviews)
	}
	if diff := cmp.Diff(groups, c.reviews[0].Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// ask presents a certificate, whichever authorities the server names, and returns the status; 0: the handshake has failed.
func ask(t *testing.T, base string, server *authority, cert *tls.Certificate, token string) int {
	t.Helper()
	config := &tls.Config{RootCAs: server.Pool()}
	if cert != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/boots/"+uuid, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, Timeout: time.Minute}).Do(r)
	if err != nil {
		var remote *net.OpError
		if !errors.As(err, &remote) || remote.Op != "remote error" {
			t.Errorf("not refused by the other side: %v", err)
		}
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// Without an authority of clients no certificate counts: not even one that the system's authorities have signed.
func TestNoClientAuthority(t *testing.T) {
	known := newAuthority(t, "known")
	s := newServer(t)
	base := listen(t, s, Identity{Certificate: known.serving()})
	if status := ask(t, base, known, known.client(pkix.Name{CommonName: "reader"}), ""); status != http.StatusUnauthorized {
		t.Errorf("a certificate: %d", status)
	}
	if status := ask(t, base, known, nil, reader); status != http.StatusOK {
		t.Errorf("a token: %d", status)
	}
}

// TestOnlyVerifiedCertificatesCount: what a peer presents is a claim; and a connection may outlive a certificate.
func TestOnlyVerifiedCertificatesCount(t *testing.T) {
	known := newAuthority(t, "known")
	leaf, err := x509.ParseCertificate(known.client(pkix.Name{CommonName: "admin"}).Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t)
	do := func(state *tls.ConnectionState, now time.Time) int {
		s.Clock = clocktesting.NewFakePassiveClock(now)
		r := httptest.NewRequest(http.MethodGet, "/boots/"+uuid, nil)
		r.TLS = state
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	presented := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
	verified := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: [][]*x509.Certificate{{leaf, known.TLS(t).Leaf}}}
	if got := do(presented, time.Now()); got != http.StatusUnauthorized {
		t.Errorf("presented: %d", got)
	}
	if got := do(verified, time.Now()); got != http.StatusOK {
		t.Errorf("verified: %d", got)
	}
	if got := do(verified, leaf.NotAfter.Add(time.Second)); got != http.StatusUnauthorized {
		t.Errorf("expired since: %d", got)
	}
}

// TestClient: the other end, with the configuration of a kubeconfig.
func TestClient(t *testing.T) {
	known, foreign := newAuthority(t, "known"), newAuthority(t, "foreign")
	base := listen(t, newServer(t), Identity{Certificate: known.serving(), ClientCAs: known.Pool()})
	token := func(token string) *rest.Config { return &rest.Config{Host: "https://127.0.0.1:1", BearerToken: token} }
	for _, c := range []struct {
		name   string
		config *rest.Config
		at     Address
		uuid   string
		want   error
		text   string
		boots  int
	}{
		{"known", token(reader), Address{base, known.Cert}, uuid, nil, "", 1},
		{"a slash at its end", token(reader), Address{base + "/", known.Cert}, uuid, nil, "", 1},
		{"a machine that never asked", token(reader), Address{base, known.Cert}, other, nil, "", 0},
		{"unknown", token("guess"), Address{base, known.Cert}, uuid, ErrUnauthorized, "", 0},
		{"without rights", token("nobody-token"), Address{base, known.Cert}, uuid, ErrForbidden, "", 0},
		{"another server", token(reader), Address{base, foreign.Cert}, uuid, nil, "certificate", 0},
		{"nobody there", token(reader), Address{"https://127.0.0.1:1", known.Cert}, uuid, nil, "refused", 0},
	} {
		client, err := NewClient(c.config, c.at)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := client.Boots(t.Context(), c.uuid)
		switch {
		case c.want != nil && !errors.Is(err, c.want), c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)), c.want == nil && c.text == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case len(got.Boots) != c.boots:
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	for _, bad := range []string{"", "http://127.0.0.1:1", "https://", "https://u:p@h", "https://h?q", "%zz"} {
		if _, err := NewClient(token(reader), Address{URL: bad}); err == nil || strings.Contains(err.Error(), ":p@") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
