package system

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/inbound/boottls"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// readyTimeout bounds the wait for the boot view to be complete. Its cost grows with the number of objects.
const readyTimeout = 2 * time.Minute

// System is Farrier around a Kubernetes API.
type System struct {
	// BootURL is where machines of the default site reach the boot server; BMCEventsURL is where BMCs send events, empty if they cannot;
	// OperatorURL is where operators are answered, empty if they are not.
	BootURL, BMCEventsURL, OperatorURL string

	logger   logr.Logger
	settings *settings
	fleet    *fleet.Fleet
	view     *bootview.View
	profiles *profile.View // nil where somebody else delivers boots
	// history is what was asked for and given in the newest boots.
	history bootview.History
	// unknown are the machines that asked and that there was nothing for.
	unknown bootview.UnknownMachines
	// instances are what the metadata service tells; nil: it is off.
	instances *bootview.Instances
	throttle  *throttle.Throttle
	images    *registry.Resolver
	blobs     *blobcache.Cache
	keys      keys
	// receiver takes the events of BMCs; nil without its listener.
	receiver *bmcevents.Receiver
	// bootListener and those after it are nil until they are needed, where others take turns with us.
	bootListener, bootTLSListener, eventsListener, operatorListener net.Listener
	// bootTLS is the certificate that machines are shown, nil: no TLS; bootTLSNames is what it is for, and bootCA is what it can be
	// verified with, where that is known.
	bootTLS      *boottls.Identity
	bootTLSNames []string
	bootCA       []byte
	// operatorCertificate is that of the operators' address; operatorCA is what it can be verified with, where that is known.
	operatorCertificate *tls.Certificate
	operatorCA          []byte
	// metricsCertificate is that of the addresses of metrics and profiles, once there is one.
	metricsCertificate *tls.Certificate
	// pages are the listeners of metrics, health and profiles.
	pages   []net.Listener
	callers callers

	stopParts context.CancelFunc
	parts     sync.WaitGroup
	synced    chan struct{} // closed when the caches are full
	failed    chan error
	stopOnce  sync.Once
	stopErr   error
}

// Site is what a simulated rack adds to what flags say.
type Site struct {
	Prefixes   []macprefix.Entry
	ProbeImage string // where no flag names one
	Registry   string // host:port that images may come from, without TLS
}

// New checks the options and finds out under which URLs the system is reached. Nothing is served yet.
func New(options Options) (*System, error) {
	settings, err := options.check()
	if err != nil {
		return nil, err
	}
	s := &System{logger: options.Logger, settings: settings, throttle: throttle.New(clock.RealClock{}), synced: make(chan struct{}), failed: make(chan error, 8)}
	ctrl.SetLogger(LowerVerbosity(options.Logger))
	s.newCallers()
	if err := errors.Join(s.listenForMachines(), s.listenForEvents(), s.listenForOperators()); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Add adds a site to a system that has not been started.
func (s *System) Add(site Site) (err error) {
	o := s.settings
	if o.ProbeImage == "" {
		o.ProbeImage = site.ProbeImage
	}
	o.AllowedRegistries = append(o.AllowedRegistries, site.Registry)
	o.PlainHTTPRegistries = append(o.PlainHTTPRegistries, site.Registry)
	o.prefixes, err = o.prefixes.With(site.Prefixes...)
	return err
}

// Start starts everything around the API of that configuration. ctx bounds the start only; what was started goes on until
// Stop, also after an error.
func (s *System) Start(ctx context.Context, config *rest.Config) (err error) {
	direct, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		return fmt.Errorf("client of the Kubernetes API: %w", err)
	}
	if s.keys, err = ensureKeys(ctx, direct, s.settings.ManagerNamespace); err != nil {
		return err
	}
	if err := s.ensureBootTLS(ctx, direct); err != nil {
		return err
	}
	s.checkProbe()
	if err := errors.Join(s.callers.register(), s.newFleet()); err != nil {
		return err
	}
	if err := s.newImages(); err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.Background())
	s.stopParts = cancel
	mgr, err := s.assemble(running, config)
	if err != nil {
		return err
	}
	s.parts.Go(func() {
		if err := s.act(running, mgr, direct); err != nil && !errors.Is(err, context.Canceled) {
			s.failed <- err
		}
	})
	return nil
}

func (s *System) newFleet() error {
	o := s.settings
	roots, err := certPool(o.BMCCAFile)
	if err != nil {
		return fmt.Errorf("--bmc-ca-file: %w", err)
	}
	f := fleet.New(fleet.Options{
		Clock: clock.RealClock{}, Logger: s.logger.WithName("fleet"),
		PollInterval: o.BMCPollInterval, FastPoll: o.BMCFastPoll, RequestTimeout: o.BMCRequestTimeout, IdleTimeout: o.BMCIdleTimeout,
		InsecureSkipVerify: o.InsecureSkipBMCVerify, RootCAs: roots, Throttle: s.throttle,
	})
	if err := metrics.Registry.Register(f); err != nil {
		return fmt.Errorf("metrics of the fleet: %w", err)
	}
	s.fleet = f
	return nil
}

// assemble makes the controllers and puts beside them what acts with them: all of it waits for its turn where others
// like it stand by, and ends before the turn is given up. What only answers machines goes on when a turn is lost.
func (s *System) assemble(ctx context.Context, config *rest.Config) (ctrl.Manager, error) {
	s.view = bootview.New()
	if !s.settings.foreignBoot {
		s.profiles = s.newProfiles()
	}
	mgr, delivery, intake, err := s.newManager(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.newMetadata(ctx, mgr), s.addOperator(mgr)); err != nil {
		return nil, err
	}
	boot, err := s.newBootServer(mgr.GetClient(), delivery, intake)
	if err != nil {
		return nil, err
	}
	for _, part := range []manager.Runnable{
		named("fleet", s.fleet.Run),
		named("receiver of BMC events", s.serveEvents),
		named("DHCP and TFTP", func(ctx context.Context) error { return s.serveDHCP(ctx, boot) }),
		s.untilStop(ctx, "image resolver", s.images.Run),
		s.untilStop(ctx, "boot server", func(ctx context.Context) error { return s.serveBoot(ctx, boot) }),
		s.untilStop(ctx, "boot server over TLS", func(ctx context.Context) error { return s.serveBootTLS(ctx, boot) }),
		s.untilStop(ctx, "certificate of the boot server", s.renewBootTLS),
		named("boot authority", func(ctx context.Context) error { return s.publishBootCA(ctx, mgr.GetClient(), mgr.GetAPIReader()) }),
		s.untilStop(ctx, "image server", func(ctx context.Context) error { return s.serveImages(ctx, boot) }),
	} {
		if err := mgr.Add(part); err != nil {
			return nil, err
		}
	}
	for _, beside := range s.settings.Beside {
		if err := beside(mgr); err != nil {
			return nil, err
		}
	}
	return mgr, errors.Join(s.addPages(mgr), mgr.Add(syncing{s}))
}

// named lets an error say which part it is of. A part that ends with an error ends the system.
func named(name string, run func(context.Context) error) manager.Runnable {
	return manager.RunnableFunc(func(ctx context.Context) error {
		if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

func (s *System) serveBoot(ctx context.Context, boot *bootserver.Server) error {
	if s.settings.BootAddress == "" {
		return nil
	}
	listener, err := opened(s.bootListener, "boot-address", s.settings.BootAddress)
	if err != nil {
		return err
	}
	s.logger.V(1).Info("boot server listens", "address", listener.Addr().String(), "url", s.BootURL)
	return boot.Serve(ctx, s.callers.machines.Listener(listener))
}

// serveImages answers /image at an address of its own, where there is one.
func (s *System) serveImages(ctx context.Context, boot *bootserver.Server) error {
	if s.settings.ImageAddress == "" {
		return nil
	}
	listener, err := opened(nil, "image-address", s.settings.ImageAddress)
	if err != nil {
		return err
	}
	return boot.ServeImages(ctx, s.callers.machines.Listener(listener))
}

// WaitReady returns when caches are full and the boot view is complete, so that no machine is told that it is unknown.
func (s *System) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !s.view.Synced() || s.profiles != nil && !s.profiles.Synced() {
		select {
		case <-ctx.Done():
			return errors.New("the boot view was not complete in time")
		case err := <-s.failed:
			return err
		case <-tick.C:
		}
	}
	return nil
}

// Synced is closed when the caches are full: a system that stands by is ready then.
func (s *System) Synced() <-chan struct{} { return s.synced }

// Failed delivers the error of a part that has ended and should not have.
func (s *System) Failed() <-chan error { return s.failed }

// Stop ends everything; the fleet logs out of BMCs that still answer. It may be called more than once.
func (s *System) Stop() error {
	s.stopOnce.Do(func() {
		if s.stopParts != nil {
			s.stopParts()
		}
		s.parts.Wait()
		if s.fleet != nil {
			metrics.Registry.Unregister(s.fleet)
		}
		if s.blobs != nil {
			metrics.Registry.Unregister(s.blobs)
		}
		errs := []error{closeListener(s.bootListener), closeListener(s.bootTLSListener), closeListener(s.eventsListener), closeListener(s.operatorListener)}
		for _, page := range s.pages {
			errs = append(errs, closeListener(page))
		}
		s.callers.unregister()
		if s.blobs != nil {
			errs = append(errs, s.blobs.Close())
		}
		s.stopErr = errors.Join(errs...)
	})
	return s.stopErr
}
