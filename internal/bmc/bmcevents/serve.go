package bmcevents

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/farrier-dev/farrier/internal/inbound"
	"github.com/farrier-dev/farrier/internal/inbound/hostcheck"
)

type timeouts struct{ header, message, answer, shutdown time.Duration }

var defaultTimeouts = timeouts{header: 5 * time.Second, message: 15 * time.Second, answer: 20 * time.Second, shutdown: 3 * time.Second}

const maxHeader = 8 << 10

// Serve answers on l, which it closes, until ctx ends. The error is nil when ctx ended it. How many connections there may be is
// for the listener to say (package inbound).
func (r *Receiver) Serve(ctx context.Context, l net.Listener) error {
	srv := inbound.Prepare(&http.Server{
		Handler:           hostcheck.Handler(r, r.options.Hosts...),
		ReadHeaderTimeout: r.timeouts.header,
		ReadTimeout:       r.timeouts.message,
		WriteTimeout:      r.timeouts.answer,
		MaxHeaderBytes:    maxHeader,
		// What net/http writes is about clients that misbehave, which the metrics count.
		ErrorLog: log.New(io.Discard, "", 0),
	})
	// A message is a connection: ten thousand BMCs that kept theirs would leave no room for each other.
	srv.SetKeepAlivesEnabled(false)
	return inbound.Serve(ctx, "receiver of BMC events", srv, l, r.timeouts.shutdown)
}
