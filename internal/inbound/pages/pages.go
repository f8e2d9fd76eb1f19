package pages

import (
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/farrier-dev/farrier/internal/inbound"
	"github.com/farrier-dev/farrier/internal/inbound/hostcheck"
)

// Shutdown is how long running answers may take when a program stops.
const Shutdown = 5 * time.Second

const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	// writeTimeout leaves room for a profile of a minute.
	writeTimeout = 2 * time.Minute
	maxHeader    = 32 << 10 // room for a bearer token
)

// IsLoopback reports whether host:port can be reached from this host alone.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Profiles answers /debug/pprof/.
func Profiles() http.Handler {
	profiles := http.NewServeMux()
	profiles.HandleFunc("/debug/pprof/", pprof.Index)
	profiles.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	profiles.HandleFunc("/debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	profiles.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return profiles
}

// Metrics answers /metrics with what is registered, and with the version of the program.
func Metrics(registry prometheus.Gatherer) http.Handler {
	figures := http.NewServeMux()
	figures.Handle("/metrics", promhttp.HandlerFor(withBuild(registry), promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: 8}))
	return figures
}

// Server answers from this host only those who mean it (package hostcheck).
func Server(handler http.Handler, logger logr.Logger) *http.Server {
	return inbound.Prepare(&http.Server{
		Handler: hostcheck.Handler(handler), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: writeTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: log.New(details{logger}, "", 0),
	})
}

// details turns net/http's log, which is about clients that misbehave, into details.
type details struct{ logr.Logger }

func (d details) Write(p []byte) (int, error) {
	d.V(1).Info("connection failed", "message", strings.TrimSpace(string(p)))
	return len(p), nil
}
