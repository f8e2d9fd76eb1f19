package dashboard

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// served is an API over HTTP that stores what the site stores, and in which reader may write nothing.
type served struct {
	*site

	mu      sync.Mutex
	callers map[string]bool // of writes, by what proves them
}

// serve has the acts of a site reach its objects.
func serve(t *testing.T, s *site) (*served, *httptest.Server) {
	t.Helper()
	a := &served{site: s, callers: map[string]bool{}}
	web := httptest.NewServer(a)
	t.Cleanup(web.Close)
	s.Config.Host = web.URL
	return a, web
}

// wrote reports whether somebody has written, and forgets it.
func (a *served) wrote(caller string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer delete(a.callers, caller)
	return a.callers[caller]
}

func (a *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	obj, err := a.answer(r)
	w.Header().Set("Content-Type", "application/json")
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		reported := status.Status()
		reported.Kind, reported.APIVersion = "Status", "v1"
		w.WriteHeader(int(reported.Code))
		obj = &reported
	} else if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(obj) // nobody listens any more
}

var kindsOf = map[string]string{"servers": "Server", "serverclaims": "ServerClaim", "servermaintenances": "ServerMaintenance", "serverbootconfigurations": "ServerBootConfiguration", "bmcs": "BMC"}

func (a *served) answer(r *http.Request) (any, error) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/apis/"), "/")
	if len(parts) < 3 || r.URL.Path == "/" {
		return nil, fmt.Errorf("no such path: %s", r.URL.Path)
	}
	kind, rest := schema.GroupVersionKind{Group: parts[0], Version: parts[1]}, parts[2:]
	obj := &unstructured.Unstructured{}
	if rest[0] == "namespaces" {
		obj.SetNamespace(rest[1])
		rest = rest[2:]
	}
	resource := rest[0]
	if kind.Kind = kindsOf[resource]; kind.Kind == "" {
		return nil, fmt.Errorf("no such resource: %s", r.URL.Path)
	}
	obj.SetGroupVersionKind(kind)
	if len(rest) > 1 {
		obj.SetName(rest[1])
	}
	if r.Method != http.MethodGet {
		caller := r.Header.Get("Authorization") + r.Header.Get("Impersonate-User")
		if strings.Contains(caller, "reader") {
			return nil, apierrors.NewForbidden(schema.GroupResource{Group: kind.Group, Resource: resource}, obj.GetName(), fmt.Errorf("User %q cannot write it", "reader"))
		}
		a.mu.Lock()
		a.callers[caller] = true
		a.mu.Unlock()
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	stored := a.api.Client
	switch r.Method {
	case http.MethodGet:
		if obj.GetName() == "" {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			return list, stored.List(r.Context(), list, client.InNamespace(obj.GetNamespace()))
		}
		return obj, stored.Get(r.Context(), client.ObjectKeyFromObject(obj), obj)
	case http.MethodPost:
		if err := json.Unmarshal(body, &obj.Object); err != nil {
			return nil, err
		}
		return obj, stored.Create(r.Context(), obj)
	case http.MethodPatch:
		return obj, stored.Patch(r.Context(), obj, client.RawPatch(types.PatchType(r.Header.Get("Content-Type")), body))
	case http.MethodDelete:
		return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}, stored.Delete(r.Context(), obj)
	}
	return nil, fmt.Errorf("no such method: %s", r.Method)
}

// post sends a form of the session.
func (s *site) post(path string, form url.Values) *httptest.ResponseRecorder {
	s.t.Helper()
	if form == nil {
		form = url.Values{}
	}
	form.Set("csrf", s.csrf())
	return s.do("POST", root+path, form)
}

func (s *site) cordoned() bool {
	s.t.Helper()
	var server metalv1.Server
	if err := s.api.Client.Get(s.t.Context(), client.ObjectKey{Name: "node-7"}, &server); err != nil {
		s.t.Fatal(err)
	}
	return server.Spec.Unclaimable
}

// TestActsAreThePersons: what a form changes is written with the token of the session, or in the name of who has a certificate.
func TestActsAreThePersons(t *testing.T) {
	s := newSite(t)
	api, _ := serve(t, s)
	s.signInAs("admin")
	w := s.post("servers/node-7/cordon", nil)
	if check(t, "cordon", w, 303, ""); w.Header().Get("Location") != root+"servers/node-7" || !s.cordoned() || !api.wrote("Bearer admin-token") {
		t.Errorf("cordoned: %t, %v, %v", s.cordoned(), w.Header(), api.callers)
	}
	check(t, "the page afterwards", s.do("GET", root+"servers/node-7", nil), 200, "Done: kubectl")
	s.signInAs("reader")
	check(t, "reader", s.post("servers/node-7/uncordon", nil), 403, "cannot write it")
	if !s.cordoned() {
		t.Error("who may only read has changed a server")
	}
	leaf := &x509.Certificate{Subject: pkix.Name{CommonName: "admin"}, NotBefore: s.clock.Now(), NotAfter: s.clock.Now().Add(time.Hour)}
	s.tls, s.jar = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf}}}, map[string]string{}
	check(t, "certificate", s.do("GET", root+"servers", nil), 200, "node-7")
	check(t, "uncordon", s.post("servers/node-7/uncordon", nil), 303, "")
	if s.cordoned() || !api.wrote("admin") {
		t.Errorf("cordoned: %t, %v", s.cordoned(), api.callers)
	}
	leaf.Subject.CommonName, s.jar = "reader", map[string]string{}
	check(t, "certificate of a reader", s.do("GET", root+"servers", nil), 200, "node-7")
	check(t, "who may not, or Farrier may not in their name", s.post("servers/node-7/cordon", nil), 403, "sign in with a token")
}

func TestClaimByForm(t *testing.T) {
	s := newSite(t)
	serve(t, s)
	s.signInAs("admin")
	check(t, "no name", s.post("claims", url.Values{"image": {"os:1"}}), 400, "name: a claim needs one")
	check(t, "selector", s.post("claims", url.Values{"name": {"web"}, "selector": {"a in ("}}), 400, "selector: ")
	s.Labels = map[string]string{metalv1.LabelWatchFilter: "hall-1"}
	w := s.post("claims", url.Values{"name": {"web"}, "namespace": {"site-a"}, "image": {"registry.example/os:1"}, "selector": {"rack=r1"}})
	if check(t, "claim", w, 303, ""); w.Header().Get("Location") != root+"claims/site-a/web" {
		t.Errorf("claimed: %v", w.Header())
	}
	var claim metalv1.ServerClaim
	key := client.ObjectKey{Namespace: "site-a", Name: "web"}
	if err := s.api.Client.Get(t.Context(), key, &claim); err != nil {
		t.Fatal(err)
	}
	if claim.Spec.Image != "registry.example/os:1" || claim.Spec.Power != metalv1.PowerOn || claim.Spec.ServerSelector == nil || claim.Spec.ServerSelector.MatchLabels["rack"] != "r1" {
		t.Errorf("claim: %+v", claim.Spec)
	}
	if claim.Labels[metalv1.LabelWatchFilter] != "hall-1" {
		t.Errorf("the claim is of another installation: %v", claim.Labels)
	}
	check(t, "again", s.post("claims", url.Values{"name": {"web"}, "namespace": {"site-a"}}), 409, "")
	check(t, "release", s.post("claims/site-a/web/release", nil), 303, "")
	if err := s.api.Client.Get(t.Context(), key, &claim); !apierrors.IsNotFound(err) {
		t.Errorf("released: %v", err)
	}
}

func TestActsThatAreNone(t *testing.T) {
	s := newSite(t)
	_, web := serve(t, s)
	s.signInAs("admin")
	for _, path := range []string{"servers/node-7/explode", "claims/default/web/park", "servers/node-7", "else"} {
		check(t, path, s.post(path, nil), 404, "")
	}
	check(t, "a server that is gone", s.post("servers/none/cordon", nil), 409, "none")
	check(t, "maintenance that is none", s.post("servers/node-7/end-maintenance", nil), 409, "")
	web.Close()
	check(t, "the API is gone", s.post("servers/node-7/cordon", nil), 503, "does not answer")
	if s.cordoned() {
		t.Error("cordoned without an API")
	}
}

// maxPage is how large a page may be, before it is compressed.
const maxPage = 200 << 10

// TestPagesOfTenThousandServers: what browsers load stays small.
func TestPagesOfTenThousandServers(t *testing.T) {
	const many = 10000
	var objects []client.Object
	for i := range many {
		objects = append(objects, &metalv1.Server{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("rack-%03d-node-%02d", i/40, i%40), Labels: map[string]string{"farrier.dev/rack": fmt.Sprintf("rack-%03d", i/40)}},
			Spec:       metalv1.ServerSpec{SystemUUID: fmt.Sprintf("4c4c4544-0043-3510-8052-%012d", i)},
			Status:     metalv1.ServerStatus{State: metalv1.ServerStateAvailable, Manufacturer: "Contoso", Model: "R7 Storage"},
		})
	}
	s := newSite(t, objects...)
	s.signInAs("admin")
	for _, path := range []string{"", "servers", "servers?page=100", "servers?view=racks", "servers?q=node-39", "servers/rack-249-node-39", "claims", "images", "bmcs", "unknown"} {
		w := s.do("GET", root+path, nil)
		if check(t, path, w, 200, ""); w.Body.Len() > maxPage {
			t.Errorf("%q: %d bytes", path, w.Body.Len())
		}
	}
	check(t, "all of them", s.do("GET", root+"servers", nil), 200, "10001 of 10001")
}
