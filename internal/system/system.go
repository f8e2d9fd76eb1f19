package system

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/boottrace"
	"github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/controller/leadership"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/inbound/boottls"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
	"github.com/farrier-dev/farrier/internal/logbook"
	"github.com/farrier-dev/farrier/internal/otlp"
)

// readyTimeout bounds the wait for the boot view to be complete. Its cost grows with the number of objects.
const readyTimeout = 2 * time.Minute

// System is Farrier around a Kubernetes API.
type System struct {
	// BootURL is where machines of the default site reach the boot server; BMCEventsURL is where BMCs send events, and FirmwareURL where they fetch images of firmware; empty if they cannot;
	// OperatorURL is where operators are answered, empty if they are not.
	BootURL, BMCEventsURL, FirmwareURL, OperatorURL string
	// BootStreamAddress and BootStreamJoinAddress are where boot servers without Kubernetes connect and join; empty: nowhere.
	BootStreamAddress, BootStreamJoinAddress string
	// BootStreamDir has the authority and the certificates of the boot stream where this process has made them; empty: it has not.
	BootStreamDir string

	logger   logr.Logger
	settings *settings
	view     *bootview.View
	profiles *profile.View // nil where somebody else delivers boots
	// history is what was asked for and given in the newest boots.
	history bootview.History
	// logbook is what was done to machines and seen of them.
	logbook *logbook.Book
	// unknown are the machines that asked and that there was nothing for.
	unknown bootview.UnknownMachines
	// instances are what the metadata service tells; nil: it is off.
	instances *bootview.Instances
	// spans go to --otlp-endpoint; nil: nowhere. trace follows boots.
	spans    *otlp.Exporter
	trace    *boottrace.Tracker
	events   *events.Budget // of all controllers
	throttle *throttle.Throttle
	images   *registry.Resolver
	blobs    *blobcache.Cache
	keys     keys
	boot     *bootserver.Server
	// bootListener and those after it are nil until they are needed, where others take turns with us.
	bootListener, bootTLSListener, imageListener, eventsListener, firmwareListener, operatorListener net.Listener
	// taken are the flags of listeners that a term has had.
	taken sync.Map
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

	// ownDefault says that machines of the default site are sent to the boot server of this process.
	ownDefault bool
	// stream is nil where no boot server without Kubernetes can connect.
	stream *bootStream
	// streamAddress is where this process serves the boot stream; empty: nowhere. The Lease has it while this process leads.
	streamAddress string

	contact     contact
	leadership  leadership.Leadership
	controllers *controllers
	election    *election // nil: there are no others, and alone is there
	alone       *alone
	term        atomic.Pointer[term]
	// divided is what is known of how BMCs are divided among managers. undivided is nil where there are no others, and sharding where this process
	// divides nothing.
	divided   divided
	undivided *undivided
	sharding  *sharding
	shards    shards

	// running is the context of all parts that are in every replica, from the start to the end.
	running   context.Context
	stopParts context.CancelFunc
	parts     sync.WaitGroup
	// turns is the context of terms.
	turns     context.Context
	stopTurns context.CancelFunc
	acting    sync.WaitGroup

	synced  chan struct{} // closed when the caches are full
	acted   chan struct{} // closed when the first term has begun
	actOnce sync.Once
	// paused is closed when this process, which is alone, has found that it may not act.
	paused    chan struct{}
	pauseOnce sync.Once
	openOnce  sync.Once
	failed    chan error
	stopOnce  sync.Once
	stopErr   error
}

// Site is what a simulated rack adds to what flags say.
type Site struct {
	Prefixes   []macprefix.Entry
	ProbeImage string // where no flag names one
	Registry   string // host:port that images may come from, without TLS; empty: none
	// Layouts are folders of image layouts, by the registry that references to them name.
	Layouts map[string]string
}

// New checks the options and finds out under which URLs the system is reached. It serves only the health of the process.
func New(options Options) (*System, error) {
	settings, err := options.check()
	if err != nil {
		return nil, err
	}
	s := &System{
		logger: options.Logger, settings: settings, throttle: throttle.New(clock.RealClock{}),
		synced: make(chan struct{}), acted: make(chan struct{}), paused: make(chan struct{}), failed: make(chan error, 1),
	}
	s.spans = settings.spans
	s.trace, s.events = boottrace.New(clock.RealClock{}, s.spans), events.NewBudget(clock.RealClock{})
	s.running, s.stopParts = context.WithCancel(context.Background())
	s.turns, s.stopTurns = context.WithCancel(s.running)
	ctrl.SetLogger(s.contact.explain(LowerVerbosity(options.Logger)))
	s.newCallers()
	if err := errors.Join(s.listenForMachines(), s.listenForEvents(), s.listenForFirmware(), s.listenForOperators(), s.serveHealth(), s.openBootStream()); err != nil {
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
	if site.Registry != "" {
		o.AllowedRegistries = append(o.AllowedRegistries, site.Registry)
		o.PlainHTTPRegistries = append(o.PlainHTTPRegistries, site.Registry)
	}
	if len(site.Layouts) > 0 {
		o.OtherLayouts = site.Layouts
	}
	o.prefixes, err = o.prefixes.With(site.Prefixes...)
	return err
}

// Start starts everything around the API of that configuration, as soon as that answers. ctx bounds the start only; what was started goes on
// until Stop, also after an error.
func (s *System) Start(ctx context.Context, config *rest.Config) error {
	direct, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		return fmt.Errorf("client of the Kubernetes API: %w", err)
	}
	direct = s.settings.filter.Client(direct, direct)
	if err := s.AwaitAPI(ctx, func(ctx context.Context) error { return s.prepare(ctx, direct) }); err != nil {
		return err
	}
	s.checkProbe()
	if err := errors.Join(s.callers.register(), s.newImages(), s.servePages(direct)); err != nil {
		return err
	}
	s.newViews()
	s.observeViews()
	if s.controllers, err = s.newControllers(ctx, config); err != nil {
		return err
	}
	if s.boot, err = s.newBootServer(s.controllers.direct.GetClient(), s.controllers.delivery, s.controllers.intake); err != nil {
		return err
	}
	if err := s.newTurns(config); err != nil {
		return err
	}
	streaming, err := s.newBootStream(direct)
	if err != nil {
		return err
	}
	tracing, err := s.tracing()
	if err != nil {
		return err
	}
	for _, p := range slices.Concat(s.permanent(), streaming, tracing) {
		s.run(p.name, p.run)
	}
	s.acting.Go(s.takeTurns)
	if s.sharding != nil {
		s.acting.Go(s.holdShards)
	}
	return nil
}

// prepare reads what everything else needs, and makes it at the first start.
func (s *System) prepare(ctx context.Context, direct client.Client) (err error) {
	if s.keys, err = ensureKeys(ctx, direct, s.settings.ManagerNamespace); err != nil {
		return err
	}
	return s.ensureBootTLS(ctx, direct)
}

// part is something that runs until its context ends.
type part struct {
	name string
	run  func(context.Context) error
}

// permanent are the parts that every replica has, whoever leads.
func (s *System) permanent() []part {
	return []part{
		{"caches", s.controllers.direct.Start},
		{"image resolver", s.images.Run},
		{"certificate of the boot server", s.renewBootTLS},
		{"contact with the API", s.followContact},
		{"logbook", s.keepLogbook},
	}
}

// followContact says when the API goes away and comes back. Then the controllers of the views look at everything again: what they could not read or
// write meanwhile they would try again after minutes.
func (s *System) followContact(ctx context.Context) error {
	for {
		changed := s.contact.Changes()
		err := s.contact.Err()
		if err == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		s.logger.Info("no contact with the Kubernetes API: the boot view may be old", "error", err)
		if s.contact.await(ctx) != nil {
			return nil
		}
		s.logger.Info("contact with the Kubernetes API again")
		if err := s.revisit(ctx); err != nil {
			return err
		}
	}
}

// revisit has the controllers of the views look at everything again.
func (s *System) revisit(ctx context.Context) error {
	for _, revisit := range s.controllers.revisits {
		if err := revisit(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// run runs a part until the system stops. A part that fails ends the system.
func (s *System) run(name string, run func(context.Context) error) {
	s.parts.Go(func() {
		if err := named(name, run).Start(s.running); err != nil {
			s.fail(err)
		}
	})
}

// fail tells of the first failure. Others follow from it, or are as good.
func (s *System) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// takeTurns acts: with the Lease, or all the time where there are no others and nobody has paused it.
func (s *System) takeTurns() {
	select {
	case <-s.synced:
	case <-s.turns.Done():
		return
	}
	run := s.alone.run
	if s.election != nil {
		run = s.election.run
	}
	if err := run(s.turns); err != nil && s.turns.Err() == nil {
		s.fail(err)
	}
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

// openForMachines begins to answer machines, at the first term: processes on one host take turns at the addresses. It goes on until the system
// stops, whoever leads: what is answered is in the views (docs/dev/decisions/012).
func (s *System) openForMachines() (err error) {
	s.openOnce.Do(func() {
		o := s.settings
		for _, address := range []struct {
			flag, address string
			listener      *net.Listener
			serve         func(context.Context) error
		}{
			{"boot-address", o.BootAddress, &s.bootListener, s.serveBoot},
			{"boot-tls-address", o.BootTLSAddress, &s.bootTLSListener, s.serveBootTLS},
			{"image-address", o.ImageAddress, &s.imageListener, s.serveImages},
		} {
			if address.address == "" {
				continue
			}
			if *address.listener, err = opened(*address.listener, address.flag, address.address); err != nil {
				return
			}
			s.run("boot server at --"+address.flag, address.serve)
		}
		s.controllers.delivery.Listens()
	})
	return err
}

func (s *System) serveBoot(ctx context.Context) error {
	s.logger.V(1).Info("boot server listens", "address", s.bootListener.Addr().String(), "url", s.BootURL)
	return s.boot.Serve(ctx, s.callers.machines.Listener(s.bootListener))
}

// serveImages answers /image at an address of its own.
func (s *System) serveImages(ctx context.Context) error {
	return s.boot.ServeImages(ctx, s.callers.machines.Listener(s.imageListener))
}

// WaitReady returns when this process acts, caches are full and the boot view is complete, so that no machine is told that it is unknown. One that is
// paused is ready at once: its API answers, and it does nothing else.
func (s *System) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !s.isPaused() && (!s.hasActed() || !s.view.Synced() || s.profiles != nil && !s.profiles.Synced()) {
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

func (s *System) hasActed() bool { return closed(s.acted) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Synced is closed when the caches are full: a system that stands by is ready then.
func (s *System) Synced() <-chan struct{} { return s.synced }

// Failed delivers the error of a part that has ended and should not have.
func (s *System) Failed() <-chan error { return s.failed }

// Stop ends everything: first what acts, where the fleet logs out of BMCs that still answer, then what answers machines, then the Lease is released.
// It may be called more than once.
func (s *System) Stop() error {
	s.stopOnce.Do(func() {
		s.stopTurns()
		s.acting.Wait()
		s.stopParts()
		s.parts.Wait()
		if s.election != nil {
			if err := s.election.release(); err != nil {
				s.logger.Info("lease not released: the next process waits until it expires", "error", err)
			}
		}
		var errs []error
		for _, l := range append(s.pages, s.bootListener, s.bootTLSListener, s.imageListener, s.eventsListener, s.firmwareListener, s.operatorListener) {
			errs = append(errs, closeListener(l))
		}
		s.callers.unregister()
		errs = append(errs, s.closeBootStream())
		if s.spans != nil {
			metrics.Registry.Unregister(s.spans)
		}
		if s.blobs != nil {
			metrics.Registry.Unregister(s.blobs)
			errs = append(errs, s.blobs.Close())
		}
		s.stopErr = errors.Join(errs...)
	})
	return s.stopErr
}
