package operator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
)

const (
	uuid   = "4c4c4544-0043-3510-8052-b7c04f4e4d32"
	other  = "4c4c4544-0043-3510-8052-b7c04f4e4dff"
	reader = "reader-token"
)

// reviewing answers reviews as an API server would: reader may read and not delete; admin may all.
type reviewing struct {
	client.Client
	broken bool
}

func (c reviewing) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if c.broken {
		return errors.New("the API is away")
	}
	switch o := obj.(type) {
	case *authenticationv1.TokenReview:
		o.Status.Authenticated = strings.HasSuffix(o.Spec.Token, "-token")
		o.Status.User.Username = strings.TrimSuffix(o.Spec.Token, "-token")
		return nil
	case *authorizationv1.SubjectAccessReview:
		o.Status.Allowed = o.Spec.User == "admin" || o.Spec.User == "reader" && o.Spec.NonResourceAttributes.Verb != "delete"
		return nil
	}
	return c.Client.Create(ctx, obj, opts...)
}

func newServer(t *testing.T) *Server {
	t.Helper()
	registration, err := inspection.Decode(strings.NewReader(`{"systemUUID":"`+uuid+`","data":{"unknown":"kept"}}`), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := inspection.Pack(registration)
	if err != nil {
		t.Fatal(err)
	}
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: metalv1.ServerSpec{SystemUUID: uuid}}
	api := controllertest.NewAPI(t, server, machinerecord.New("farrier-system", machinerecord.InspectionName("a"), machinerecord.KindInspection, "a", "attempt-1", packed))
	history := &bootview.History{}
	history.Record(bootview.Delivery{Kind: bootview.DeliveredScript, UUID: uuid, Attempt: "attempt-1", Addr: "10.0.0.1", Status: 200, Time: time.Unix(0, 0).UTC()})
	explain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "of "+r.URL.RawQuery) })
	return &Server{API: reviewing{Client: api}, Live: api, Namespace: "farrier-system", History: history, Explain: explain, Clock: clock.RealClock{}, Logger: logr.Discard()}
}

func TestAnswers(t *testing.T) {
	s := newServer(t)
	for _, c := range []struct {
		name, method, path, token string
		status                    int
		body                      string
	}{
		{"no token", "GET", "/boots/" + uuid, "", 401, "Unauthorized"},
		{"a wrong token", "GET", "/boots/" + uuid, "guess", 401, "Unauthorized"},
		{"no token, no such path", "GET", "/", "", 401, "Unauthorized"},
		{"boots", "GET", "/boots/" + strings.ToUpper(uuid), reader, 200, `"kind":"Script"`},
		{"boots of nobody", "GET", "/boots/" + other, reader, 404, "Not Found"},
		{"explained to nobody", "GET", "/explain?serial=a", "", 401, "Unauthorized"},
		{"explained", "GET", "/explain?serial=a", reader, 200, "of serial=a"},
		{"no UUID", "GET", "/boots/x", reader, 400, "uuid"},
		{"report", "GET", "/systems/" + uuid, reader, 200, `"unknown":"kept"`},
		{"report of nobody", "GET", "/systems/" + other, reader, 404, "Not Found"},
		{"no such path", "GET", "/else", reader, 404, ""},
		{"another method", "POST", "/systems/" + uuid, reader, 405, ""},
		{"a reader deletes", "DELETE", "/delete/" + uuid, reader, 403, "Forbidden"},
		{"still there", "GET", "/systems/" + uuid, reader, 200, `"attempt":"attempt-1"`},
		{"deleted", "DELETE", "/delete/" + uuid, "admin-token", 204, ""},
		{"gone", "GET", "/systems/" + uuid, reader, 404, "Not Found"},
	} {
		w := do(s, c.method, c.path, c.token)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %q %v", c.name, w.Code, w.Body, w.Header())
		}
	}
	s.API = reviewing{broken: true}
	if w := do(s, "GET", "/boots/"+uuid, reader); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("without the API: %d", w.Code)
	}
}

func do(s *Server, method, path, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}
