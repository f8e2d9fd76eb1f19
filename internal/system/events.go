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
// receiver. Without one the controller removes what was subscribed before.
func (t *term) newSubscriptions() *subscription.Reconciler {
	s, mgr := t.System, t.mgr
	r := &subscription.Reconciler{
		Client: mgr.GetClient(), Fleet: t.fleet, Registry: connection.NewRegistry(t.fleet), Paths: bmcevents.NewPaths(s.keys.token),
		URL: s.BMCEventsURL, Recorder: s.recorder(mgr), Clock: clock.RealClock{}, Workers: workers,
		NamedByBMC: t.registry.NamedByBMC,
	}
	if s.settings.BMCEventsAddress != "" {
		r.Receiver = bmcevents.New(bmcevents.Options{Paths: r.Paths, Hosts: hostcheck.Names(s.BMCEventsURL), Logger: s.logger.WithName("events"), Notify: r.Heard})
		t.receiver = r.Receiver
	}
	return r
}

// serveEvents takes events, if somebody may send any.
func (t *term) serveEvents(ctx context.Context) error {
	s := t.System
	if t.receiver == nil {
		return nil
	}
	listener, err := s.openedForTerm(s.eventsListener, "bmc-events-address", s.settings.BMCEventsAddress)
	if err != nil {
		return err
	}
	if err := metrics.Registry.Register(t.receiver); err != nil {
		return fmt.Errorf("metrics of BMC events: %w", err)
	}
	defer metrics.Registry.Unregister(t.receiver)
	if s.settings.eventsTLS == nil {
		return t.receiver.Serve(ctx, s.callers.bmcs.Listener(listener))
	}
	return t.receiver.Serve(ctx, tls.NewListener(s.callers.bmcs.TLSListener(listener, eventsPace), s.settings.eventsTLS))
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
