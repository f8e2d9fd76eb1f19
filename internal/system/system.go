package system

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/config"
	"github.com/farrier-dev/farrier/internal/bmcevents"
	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controlplane"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/image"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim"
)

// readyTimeout bounds the wait for the boot view to be complete. Its cost grows with the number of objects.
const readyTimeout = 2 * time.Minute

// System is a running Farrier.
type System struct {
	// Client reads and writes objects as an administrator; Config is what it was made of.
	Client client.Client
	Config *rest.Config
	// APIURL, Kubeconfig, BootURL and RegistryURL say where things are.
	APIURL, Kubeconfig, BootURL string
	// BMCEventsURL is empty if BMCs cannot send events.
	BMCEventsURL string
	// Rack and Registry are nil without a simulated rack.
	Rack     *sim.Rack
	Registry *localregistry.Registry

	logger   logr.Logger
	settings *settings
	plane    *controlplane.Server
	fleet    *fleet.Fleet
	view     *bootview.View
	images   *image.Resolver
	blobs    *image.Blobs
	boot     *bootserver.Server
	keys     keys
	bootAddr net.Listener
	// receiver takes the events of BMCs; nil without its listener.
	receiver       *bmcevents.Receiver
	eventsListener net.Listener

	stopParts context.CancelFunc
	parts     sync.WaitGroup
	failed    chan error
	stopOnce  sync.Once
	stopErr   error
}

// Start brings a whole system up and returns when everything answers. ctx bounds the start only.
// When it fails, what was started has been stopped again.
func Start(ctx context.Context, options Options) (*System, error) {
	settings, err := options.check()
	if err != nil {
		return nil, err
	}
	s := &System{logger: options.Logger, settings: settings, failed: make(chan error, 8)}
	ctrl.SetLogger(options.Logger.V(1))
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *System) start(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.settings.BootAddress)
	if err != nil {
		return fmt.Errorf("--boot-address: %w", err)
	}
	s.bootAddr = listener
	if s.BootURL = s.settings.BootURL; s.BootURL == "" {
		s.BootURL = deriveURL(listener.Addr(), s.settings.Sim > 0, false)
	}
	if err := s.listenForEvents(); err != nil {
		return err
	}
	if err := s.startAPI(ctx); err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.Background())
	s.stopParts = cancel
	if err := s.startRack(ctx); err != nil {
		return err
	}
	if err := s.startParts(ctx, running); err != nil {
		return err
	}
	if err := s.waitReady(ctx); err != nil {
		return err
	}
	if s.Rack != nil && !s.settings.SimWithoutEndpoints {
		return s.CreateEndpoints(ctx)
	}
	return nil
}

// startAPI starts the control plane and puts into it what Farrier needs: its kinds, its namespace, its keys.
func (s *System) startAPI(ctx context.Context) error {
	plane, err := controlplane.Start(ctx, controlplane.Options{
		DataDir: s.settings.DataDir, KubeconfigPath: s.settings.Kubeconfig, Address: s.settings.APIAddress,
		Logger: s.logger.WithName("api"),
	})
	if err != nil {
		return err
	}
	s.plane, s.Config = plane, plane.RESTConfig()
	s.APIURL, s.Kubeconfig = plane.URL(), plane.Kubeconfig()
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	if err := controlplane.InstallCRDs(ctx, s.Config, crds); err != nil {
		return fmt.Errorf("install the kinds of Farrier: %w", err)
	}
	if s.Client, err = client.New(s.Config, client.Options{Scheme: Scheme()}); err != nil {
		return err
	}
	if err := ensureNamespace(ctx, s.Client, s.settings.ManagerNamespace); err != nil {
		return err
	}
	s.keys, err = ensureKeys(ctx, s.Client, s.settings.ManagerNamespace)
	return err
}

// startParts starts what runs beside the API: the fleet, the controllers and the boot server.
func (s *System) startParts(ctx, running context.Context) error {
	o := s.settings
	roots, err := certPool(o.BMCCAFile)
	if err != nil {
		return fmt.Errorf("--bmc-ca-file: %w", err)
	}
	s.fleet = fleet.New(fleet.Options{
		Clock: clock.RealClock{}, Logger: s.logger.WithName("fleet"),
		PollInterval: o.BMCPollInterval, FastPoll: o.BMCFastPoll, RequestTimeout: o.BMCRequestTimeout,
		InsecureSkipVerify: o.InsecureSkipBMCVerify, RootCAs: roots,
	})
	if err := metrics.Registry.Register(s.fleet); err != nil {
		return fmt.Errorf("metrics of the fleet: %w", err)
	}
	s.view = bootview.New()
	images := image.Options{
		AllowedRegistries: o.AllowedRegistries, PlainHTTP: o.PlainHTTPRegistries, Architecture: o.Architecture,
		Dir: filepath.Join(o.DataDir, "images"), MaxBytes: o.ImageCacheSize, Logger: s.logger.WithName("images"),
	}
	if s.images, err = image.NewResolver(images); err != nil {
		return fmt.Errorf("images: %w", err)
	}
	if s.blobs, err = image.NewBlobs(images); err != nil {
		return fmt.Errorf("image cache: %w", err)
	}
	s.images.Subscribe(s.describe)
	mgr, delivery, intake, err := s.newManager(running)
	if err != nil {
		return err
	}
	if s.boot, err = s.newBootServer(delivery, intake); err != nil {
		return err
	}
	s.run("fleet", func() error { return s.fleet.Run(running) })
	s.run("image resolver", func() error { return s.images.Run(running) })
	s.run("controllers", func() error { return mgr.Start(running) })
	s.run("boot server", func() error { return s.boot.Serve(running, s.bootAddr) })
	if err := s.runReceiver(running); err != nil {
		return err
	}
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the caches of the controllers did not fill in time")
	}
	return nil
}

// describe tells the image cache how large the layers of a resolved image are, so that HEAD is answered at once.
func (s *System) describe(r image.Request) {
	if result, known := s.images.Lookup(r); known {
		s.blobs.Describe(result.Plan)
	}
}

// run starts a part; one that ends with an error ends the system.
func (s *System) run(name string, part func() error) {
	s.parts.Add(1)
	go func() {
		defer s.parts.Done()
		if err := part(); err != nil && !errors.Is(err, context.Canceled) {
			s.failed <- fmt.Errorf("%s: %w", name, err)
		}
	}()
}

// waitReady returns when the boot view is complete, so that no machine is told that it is unknown.
func (s *System) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !s.view.Synced() {
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

// Failed delivers the error of a part that has ended and should not have.
func (s *System) Failed() <-chan error { return s.failed }

// Done is closed when the API has ended, for whatever reason.
func (s *System) Done() <-chan struct{} { return s.plane.Done() }

// Stop ends everything in the order in which the parts need each other: the fleet logs out of BMCs that
// still answer, and the API goes last. It may be called more than once.
func (s *System) Stop() error {
	s.stopOnce.Do(func() {
		if s.stopParts != nil {
			s.stopParts()
		}
		s.parts.Wait()
		if s.fleet != nil {
			metrics.Registry.Unregister(s.fleet)
		}
		var errs []error
		if s.bootAddr != nil && s.boot == nil {
			errs = append(errs, s.bootAddr.Close())
		}
		errs = append(errs, s.closeReceiver())
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if s.blobs != nil {
			errs = append(errs, s.blobs.Close())
		}
		if s.Rack != nil {
			errs = append(errs, s.Rack.Stop(ctx))
		}
		if s.Registry != nil {
			errs = append(errs, s.Registry.Stop())
		}
		if s.plane != nil {
			errs = append(errs, s.plane.Stop())
		}
		s.stopErr = errors.Join(errs...)
	})
	return s.stopErr
}
