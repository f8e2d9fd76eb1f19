package system

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootserver/setup"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/enroll"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/bootservers"
	"github.com/farrier-dev/farrier/internal/controller/registrations"
)

// bootStream is what serves boot servers that have no Kubernetes. What of it is nil depends on how far the start has come.
type bootStream struct {
	listener, joinListener net.Listener

	identity *peer.Identity
	// authority issues certificates to boot servers that join; nil: none can.
	authority  *authority.Authority
	authorizer *peer.Authorizer
	// own is the directory of certificates that this process keeps; nil: somebody else does.
	own *authority.Dir

	// journal has what boot servers are sent, which source notes of the views.
	journal *bootstream.Journal
	source  *records.Source
	server  *bootstream.Server

	// table is that of boot servers that may connect.
	table *bootservers.Table

	collectors []prometheus.Collector
}

// openBootStream opens the listeners of the boot stream: every process that runs serves it, whoever's turn it is.
func (s *System) openBootStream() (err error) {
	o := s.settings
	if o.BootStreamAddress == "" {
		return nil
	}
	journal := bootstream.NewJournal()
	s.stream = &bootStream{journal: journal, source: records.NewSource(journal)}
	if s.stream.listener, err = opened(nil, "boot-stream-address", o.BootStreamAddress); err != nil {
		return err
	}
	s.BootStreamAddress = s.stream.listener.Addr().String()
	// Other managers reach it there, as the Lease tells them.
	s.streamAddress = strings.TrimPrefix(setup.DeriveURL(s.stream.listener.Addr(), o.Loopback, true), "https://")
	if o.BootStreamJoinAddress != "" {
		if s.stream.joinListener, err = opened(nil, "boot-stream-join-address", o.BootStreamJoinAddress); err != nil {
			return err
		}
		s.BootStreamJoinAddress = s.stream.joinListener.Addr().String()
	}
	if o.BootStreamCertificatesDir == "" {
		return nil // OwnBootStream makes them
	}
	return s.readBootStream()
}

// readBootStream reads certificate and authority.
func (s *System) readBootStream() (err error) {
	o, b := s.settings, s.stream
	logger := s.logger.WithName("boot-stream")
	if b.identity, err = peer.FromFiles(peer.In(o.BootStreamCertificatesDir), peer.Options{Logger: logger}); err != nil {
		return fmt.Errorf("--boot-stream-certificates-dir: %w", err)
	}
	if o.BootStreamJoinAddress != "" {
		dir, err := authority.OpenDir(o.BootStreamAuthorityDir, clock.RealClock{}.Now())
		if err != nil {
			return fmt.Errorf("--boot-stream-authority-dir: %w", err)
		}
		b.authority = dir.Authority()
	}
	b.authorizer = peer.NewAuthorizer(b.identity, o.bootServers)
	b.collectors = append(b.collectors, b.identity, b.authorizer)
	return nil
}

func (s *System) closeBootStream() error {
	if s.stream == nil {
		return nil
	}
	for _, c := range s.stream.collectors {
		metrics.Registry.Unregister(c)
	}
	return errors.Join(closeListener(s.stream.listener), closeListener(s.stream.joinListener))
}

// observeViews has everything that boot servers answer from noted. It comes before the first entry of any of the views.
func (s *System) observeViews() {
	b := s.stream
	if b == nil {
		return
	}
	b.source.ObserveView(s.view)
	if s.profiles != nil {
		b.source.ObserveProfiles(s.profiles)
	}
	if s.instances != nil {
		b.source.ObserveInstances(s.instances)
	}
	b.source.SetSigner(s.configSigner())
}

// newBootStream makes what boot servers talk to: parts of every replica, for who acts is of no concern to those who follow.
func (s *System) newBootStream(direct client.Client) ([]part, error) {
	b, c := s.stream, s.controllers
	if b == nil {
		return nil, nil
	}
	logger := s.logger.WithName("boot-stream")
	observed, err := s.observed(c.direct.GetCache())
	if err != nil {
		return nil, err
	}
	receiver := bootservers.New(bootservers.Options{
		View: s.view, Delivery: c.delivery, History: &s.history, Unknown: &s.unknown, Intake: c.intake, Early: c.delivery.PollSoon, Leased: s.leased,
		Servers: c.direct.GetClient(), SiteOf: c.delivery.SiteOf, Anonymous: s.settings.AllowUnauthenticatedProbe, Clock: clock.RealClock{}, Logger: logger,
	})
	b.server = bootstream.NewServer(bootstream.ServerOptions{
		Journal: b.journal, Receiver: receiver, Ready: s.servesStream, Changed: s.leadership.Changed, Observed: observed, Reached: c.reached, Logger: logger,
		Identify: func(ctx context.Context) (bootstream.Peer, error) {
			p, err := b.authorizer.Peer(ctx)
			return bootstream.Peer{Name: p.Name, Site: p.Site}, err
		},
	})
	b.collectors = append(b.collectors, receiver, b.server)
	table, err := s.newBootServerTable()
	if err != nil {
		return nil, err
	}
	c.delivery.Stream, c.delivery.Streamed = b.server, func(site string) bool { return table.Has(site) && !s.answersItself(site) }
	b.table = table
	c.showTroubles(b.server)
	parts := []part{
		{"boot stream", s.serving(b.listener, b.server.GRPC(b.authorizer.Credentials()))},
		{"certificate of the boot stream", b.identity.Run},
		{"peers of the boot stream", b.authorizer.Run},
		{"boot servers that have joined", table.Run},
	}
	if b.own != nil {
		parts = append(parts, part{"own certificates", func(ctx context.Context) error { return s.keepOwn(ctx, table.SetGiven) }})
	}
	if b.authority != nil {
		joining := enroll.NewServer(enroll.Options{
			Store: &registrations.Store{Client: direct, Namespace: s.settings.ManagerNamespace}, Authority: b.authority, Identity: b.identity,
			Clock: clock.RealClock{}, Logger: logger,
		})
		b.collectors = append(b.collectors, joining)
		parts = append(parts, part{"certificates of boot servers", s.serving(b.joinListener, joining.GRPC())})
	}
	for _, c := range b.collectors {
		if err := metrics.Registry.Register(c); err != nil {
			return nil, fmt.Errorf("metrics of the boot stream: %w", err)
		}
	}
	return parts, nil
}

// answersItself reports whether machines of a site are sent to the boot server of this process: those of the default site are, unless
// --boot-url sends them elsewhere.
func (s *System) answersItself(site string) bool { return site == "" && s.ownDefault }

var (
	errIncomplete = errors.New("the boot view is not complete yet")
	errFollower   = errors.New("another manager leads")
)

// servesStream says why boot servers are to follow another manager. What they tell is written by the one that leads, and it is the one that waits for
// their acknowledgements. Where none is known to lead, such as in an outage of the API, they stay.
func (s *System) servesStream() error {
	if leader := s.leadership.Leader(); leader != "" && leader != s.streamAddress && !s.leadership.Leads() {
		return errFollower
	}
	if !s.complete() {
		return errIncomplete
	}
	return nil
}

// complete reports whether the views have everything there is.
func (s *System) complete() bool {
	return s.view.Synced() && (s.profiles == nil || s.profiles.Synced()) && (s.instances == nil || s.instances.Synced())
}

// observed returns what tells the newest resource version of each kind that the views are made of, as far as the cache has seen it.
func (s *System) observed(informers cache.Cache) (func() map[string]uint64, error) {
	kinds := map[string]client.Object{"Server": &metalv1.Server{}, "ServerBootConfiguration": &metalv1.ServerBootConfiguration{}}
	if !s.settings.foreignBoot {
		kinds["Profile"], kinds["Assignment"] = &ipxev1.Profile{}, &ipxev1.Assignment{}
		for _, m := range bootmethod.Methods {
			kinds[m.Kind] = m.New()
		}
	}
	type reflector interface{ LastSyncResourceVersion() string }
	sources := map[string]reflector{}
	for kind, object := range kinds {
		informer, err := informers.GetInformer(context.Background(), object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("cache of %ss: %w", kind, err)
		}
		source, ok := informer.(reflector)
		if !ok {
			return nil, fmt.Errorf("cache of %ss: %T tells no resource version", kind, informer)
		}
		sources[kind] = source
	}
	return func() map[string]uint64 {
		all := make(map[string]uint64, len(sources))
		for kind, source := range sources {
			if version, err := strconv.ParseUint(source.LastSyncResourceVersion(), 10, 64); err == nil {
				all[kind] = version
			}
		}
		return all
	}, nil
}

// serving serves gRPC until the context ends.
func (s *System) serving(l net.Listener, g *grpc.Server) func(context.Context) error {
	return func(ctx context.Context) error {
		defer context.AfterFunc(ctx, g.Stop)()
		s.logger.V(1).Info("boot stream listens", "address", l.Addr().String())
		if err := g.Serve(s.callers.operators.TLSListener(l, operatorPace)); err != nil && ctx.Err() == nil {
			return err
		}
		return nil
	}
}

// newBootServerTable makes the table of boot servers: those of the flag, and those that have joined since.
func (s *System) newBootServerTable() (*bootservers.Table, error) {
	mgr := s.controllers.direct
	secrets, err := bootservers.Secrets(mgr.GetConfig(), mgr.GetScheme(), s.settings.ManagerNamespace)
	if err != nil {
		return nil, fmt.Errorf("boot servers that have joined: %w", err)
	}
	return bootservers.NewTable(secrets, s.settings.bootServers, s.stream.authorizer.SetTable, s.logger.WithName("boot-stream")), nil
}

// checkBootStream reads what is said of the boot stream.
func (s *settings) checkBootStream() error {
	var errs []error
	refuse := func(flag string, err error) { errs = append(errs, fmt.Errorf("--%s: %w", flag, err)) }
	if s.BootStreamAddress == "" {
		for flag, given := range map[string]bool{
			"boot-servers": len(s.BootServers) > 0, "boot-stream-certificates-dir": s.BootStreamCertificatesDir != "",
			"boot-stream-join-address": s.BootStreamJoinAddress != "", "boot-stream-authority-dir": s.BootStreamAuthorityDir != "",
		} {
			if given {
				refuse(flag, errors.New("needs --boot-stream-address, where boot servers without Kubernetes connect"))
			}
		}
		return errors.Join(errs...)
	}
	for flag, address := range map[string]string{"boot-stream-address": s.BootStreamAddress, "boot-stream-join-address": s.BootStreamJoinAddress} {
		if address == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			refuse(flag, err)
		}
	}
	if s.BootStreamCertificatesDir == "" && !s.OwnCertificates {
		refuse("boot-stream-certificates-dir", errors.New("is needed for --boot-stream-address: a directory with tls.crt, tls.key and ca.crt"))
	}
	switch {
	case s.BootStreamJoinAddress != "" && s.BootStreamAuthorityDir == "" && !s.OwnCertificates:
		refuse("boot-stream-authority-dir", errors.New("is needed for --boot-stream-join-address: the authority that 'farrier cert init' has made"))
	case s.BootStreamJoinAddress == "" && s.BootStreamAuthorityDir != "":
		refuse("boot-stream-authority-dir", errors.New("needs --boot-stream-join-address, where boot servers get certificates"))
	}
	var err error
	if s.bootServers, err = peer.ParseTable(s.BootServers); err != nil {
		refuse("boot-servers", err)
	}
	return errors.Join(errs...)
}
