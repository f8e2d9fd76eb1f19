package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/console"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/inbound"
	"github.com/farrier-dev/farrier/internal/inbound/hostcheck"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/logbook"
)

const (
	// askTimeout bounds what the Kubernetes API is asked for one answer.
	askTimeout = 20 * time.Second
	// maxReport is the longest report that is unpacked.
	maxReport = 16 << 20
)

// Server answers operators.
type Server struct {
	// API finds Servers by index, from a cache, and asks reviews; Live reads and deletes records.
	API       client.Client
	Live      client.Reader
	Namespace string
	History   *bootview.History
	// Explain answers which assignment a machine gets, and why; nil: nobody does.
	Explain http.Handler
	// Unknown answers which machines asked what to boot and were told that there is nothing; nil: nobody does.
	Unknown http.Handler
	// Logbook is what was done to machines and seen of them; nil: nothing.
	Logbook *logbook.Book
	// Console has the serial consoles; nil: nobody gets one.
	Console *console.Hub
	Clock   clock.PassiveClock
	Logger  logr.Logger
	// Dashboard answers what is under its path, and knows its callers by itself; nil: nobody does.
	Dashboard http.Handler

	reviews reviews
	viewers viewers
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.Dashboard != nil && (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, PathDashboard)) {
		s.Dashboard.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	s.Protect(s.routes()).ServeHTTP(w, r.WithContext(ctx))
}

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /systems/{uuid}", s.answer(s.report))
	mux.HandleFunc("DELETE /delete/{uuid}", s.answer(s.forget))
	mux.HandleFunc("GET "+PathBoots+"{uuid}", s.answer(s.boots))
	mux.HandleFunc("GET "+PathLogbook+"{name}", s.logbook)
	if s.Console != nil {
		mux.HandleFunc("GET "+PathConsole+"{server}", s.serveConsole)
	}
	if s.Explain != nil {
		mux.Handle("GET /explain", s.Explain)
	}
	if s.Unknown != nil {
		mux.Handle("GET "+PathUnknown, s.Unknown)
	}
	return mux
}

// PathBoots is where the requests of a machine are read, by its UUID.
const PathBoots = "/boots/"

// PathDashboard is where the pages for browsers are.
const PathDashboard = "/dashboard/"

// PathUnknown is where the machines are listed that asked what to boot and that there is nothing for.
const PathUnknown = "/unknown"

var errNotFound = errors.New("not found")

// answer sends what ask returns: JSON, or nothing for nil.
func (s *Server) answer(ask func(ctx context.Context, uuid string) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		uuid, err := identity.UUID(r.PathValue("uuid"))
		if err != nil {
			http.Error(w, "uuid: "+err.Error(), http.StatusBadRequest)
			return
		}
		body, err := ask(r.Context(), uuid)
		switch {
		case errors.Is(err, errNotFound):
			http.Error(w, http.StatusText(http.StatusNotFound), http.StatusNotFound)
		case err != nil:
			s.Logger.Error(err, "operator request failed", "path", r.URL.Path)
			http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		case body == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			_, _ = w.Write(body) // an error means that nobody listens any more
		}
	}
}

// report is the body that the probe of a machine sent.
func (s *Server) report(ctx context.Context, uuid string) ([]byte, error) {
	obj, err := s.record(ctx, uuid)
	if err != nil {
		return nil, err
	}
	registration, err := inspection.Unpack(obj.BinaryData[machinerecord.Key], maxReport)
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s: %w", obj.Name, err)
	}
	return json.Marshal(struct {
		SystemUUID string          `json:"systemUUID"`
		Attempt    string          `json:"attempt,omitempty"`
		Data       json.RawMessage `json:"data"`
	}{uuid, obj.Annotations[machinerecord.AnnotationAttempt], registration.Raw})
}

func (s *Server) forget(ctx context.Context, uuid string) ([]byte, error) {
	obj, err := s.record(ctx, uuid)
	if err != nil {
		return nil, err
	}
	return nil, client.IgnoreNotFound(s.API.Delete(ctx, obj))
}

// record is the object of record of a machine's inspection.
func (s *Server) record(ctx context.Context, uuid string) (*corev1.ConfigMap, error) {
	var servers metalv1.ServerList
	if err := s.API.List(ctx, &servers, client.MatchingFields{index.ServerByIdentity: index.MachineUUID(uuid)}); err != nil {
		return nil, fmt.Errorf("list Servers: %w", err)
	}
	for i := range servers.Items {
		obj := &corev1.ConfigMap{}
		key := client.ObjectKey{Namespace: s.Namespace, Name: machinerecord.InspectionName(servers.Items[i].Name)}
		if err := s.Live.Get(ctx, key, obj); err == nil {
			return obj, nil
		} else if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("ConfigMap %s: %w", key, err)
		}
	}
	return nil, errNotFound
}

func (s *Server) boots(_ context.Context, uuid string) ([]byte, error) {
	boots := s.History.Boots(uuid)
	if boots == nil {
		return nil, errNotFound
	}
	return json.Marshal(Boots{uuid, boots})
}

// BootsOf is what the newest boots of a machine asked for and were given.
func (s *Server) BootsOf(uuid string) Boots { return Boots{uuid, s.History.Boots(uuid)} }

// Boots is the answer to GET /boots/{uuid}.
type Boots struct {
	SystemUUID string `json:"systemUUID"`
	// Boots are the newest ones, the last one last.
	Boots []bootview.Boot `json:"boots"`
}

// Serve answers on l, over TLS, until ctx ends. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener, as Identity) error {
	srv := inbound.Prepare(&http.Server{
		Handler: hostcheck.Handler(s, as.Names...), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 2 * maxToken, TLSConfig: as.TLS(), ErrorLog: log.New(connections{s.Logger}, "", 0),
	})
	served := make(chan error, 1)
	go func() { served <- srv.ServeTLS(l, "", "") }()
	select {
	case err := <-served:
		return fmt.Errorf("operator address %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil {
		_ = srv.Close() // answers that take longer than they may
	}
	<-served
	return nil
}

// connections turns net/http's log, which is about handshakes that fail, into details.
type connections struct{ logr.Logger }

func (c connections) Write(p []byte) (int, error) {
	c.V(1).Info("connection failed", "message", strings.TrimSpace(string(p)))
	return len(p), nil
}
