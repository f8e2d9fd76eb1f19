package system

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/subscription"
	"github.com/farrier-dev/farrier/internal/host/boundedfile"
	"github.com/farrier-dev/farrier/internal/inbound/hostcheck"
)

// checkEvents reads what is said of the receiver of BMC events.
func (s *settings) checkEvents() error {
	var errs []error
	refuse := func(flag string, err error) { errs = append(errs, fmt.Errorf("--%s: %w", flag, err)) }
	if err := checkURLForBMCs(&s.BMCEventsURL); err != nil {
		refuse("bmc-events-url", err)
	}
	if (s.BMCEventsCertFile == "") != (s.BMCEventsKeyFile == "") {
		refuse("bmc-events-cert-file", errors.New("a certificate needs its key, in --bmc-events-key-file"))
	} else if s.BMCEventsCertFile != "" {
		pair, err := boundedfile.KeyPair(s.BMCEventsCertFile, s.BMCEventsKeyFile)
		if err != nil {
			refuse("bmc-events-cert-file", err)
		} else {
			s.eventsTLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		}
	}
	if s.BMCEventsAddress == "" {
		if s.BMCEventsURL != "" || s.BMCEventsCertFile != "" {
			refuse("bmc-events-address", errors.New("is needed for BMCs to send events to"))
		}
	} else if _, _, err := net.SplitHostPort(s.BMCEventsAddress); err != nil {
		refuse("bmc-events-address", err)
	}
	return errors.Join(errs...)
}

// checkURLForBMCs checks a base URL that BMCs are told, if there is one, and cuts the slash at its end.
func checkURLForBMCs(base *string) error {
	if *base == "" {
		return nil
	}
	u, err := url.Parse(*base)
	switch {
	case err == nil && u.User != nil:
		return errors.New("a URL with credentials would be shown to every BMC")
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%q is no http(s) URL without a query", *base)
	}
	*base = strings.TrimRight(*base, "/")
	return nil
}

// listenForEvents opens the listener of the receiver, if there is one, and finds out its URL.
func (s *System) listenForEvents() error {
	if s.settings.BMCEventsAddress == "" {
		return nil
	}
	listener, reached, err := s.listen("bmc-events-address", s.settings.BMCEventsAddress, s.settings.eventsTLS != nil)
	if err != nil {
		return err
	}
	s.eventsListener = listener
	if s.BMCEventsURL = s.settings.BMCEventsURL; s.BMCEventsURL == "" {
		s.BMCEventsURL = reached
	}
	return nil
}

// newSubscriptions makes the controller of subscriptions and, if there is a listener for it, the
// receiver. Without one the controller removes what was subscribed before. The shards of a process have one receiver.
func (t *term) newSubscriptions() *subscription.Reconciler {
	s, mgr := t.System, t.seen
	r := &subscription.Reconciler{
		Client: mgr.GetClient(), Fleet: t.fleet, Registry: connection.NewRegistry(t.fleet), Paths: bmcevents.NewPaths(s.keys.token),
		URL: s.BMCEventsURL, Recorder: s.recorder(mgr), Clock: clock.RealClock{}, Workers: workers,
		NamedByBMC: t.registry.NamedByBMC,
	}
	switch {
	case s.settings.BMCEventsAddress == "":
	case t.shard == nil:
		t.receiver = s.newReceiver(r.Paths, r.Heard)
		r.Receiver = t.receiver
	default:
		r.Receiver = s.shards.receiver(s, r.Paths)
	}
	return r
}

func (s *System) newReceiver(paths bmcevents.Paths, heard func(string, []bmcevents.Event)) *bmcevents.Receiver {
	return bmcevents.New(bmcevents.Options{Paths: paths, Hosts: hostcheck.Names(s.BMCEventsURL), Logger: s.logger.WithName("events"), Notify: heard})
}

// receiver is what takes the events for all shards of a process.
func (h *shards) receiver(s *System, paths bmcevents.Paths) *bmcevents.Receiver {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.events == nil {
		h.events = s.newReceiver(paths, func(name string, events []bmcevents.Event) {
			for _, t := range h.all() {
				t.subscriptions.Heard(name, events)
			}
		})
	}
	return h.events
}

// serveSharedEvents takes events for all shards of this process, if somebody may send any.
func (s *System) serveSharedEvents(ctx context.Context) error {
	if s.settings.BMCEventsAddress == "" {
		return nil
	}
	return s.receive(ctx, s.shards.receiver(s, bmcevents.NewPaths(s.keys.token)))
}

// serveEvents takes events, if somebody may send any.
func (t *term) serveEvents(ctx context.Context) error {
	if t.receiver == nil {
		return nil
	}
	return t.receive(ctx, t.receiver)
}

func (s *System) receive(ctx context.Context, receiver *bmcevents.Receiver) error {
	listener, err := s.openedForTerm(s.eventsListener, "bmc-events-address", s.settings.BMCEventsAddress)
	if err != nil {
		return err
	}
	if err := metrics.Registry.Register(receiver); err != nil {
		return fmt.Errorf("metrics of BMC events: %w", err)
	}
	defer metrics.Registry.Unregister(receiver)
	if s.settings.eventsTLS == nil {
		return receiver.Serve(ctx, s.callers.bmcs.Listener(listener))
	}
	return receiver.Serve(ctx, tls.NewListener(s.callers.bmcs.TLSListener(listener, eventsPace), s.settings.eventsTLS))
}

// closeListener closes a listener that may have been closed by whoever served it.
func closeListener(l net.Listener) error {
	if l == nil {
		return nil
	}
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
