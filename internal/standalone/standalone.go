package standalone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/config"
	"github.com/farrier-dev/farrier/internal/admission/plugin"
	"github.com/farrier-dev/farrier/internal/controlplane"
	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/vm"
	"github.com/farrier-dev/farrier/internal/system"
)

// System is a running Farrier with the API that it runs on.
type System struct {
	*system.System
	// Client reads and writes objects as an administrator; Config is what it was made of.
	Client client.Client
	Config *rest.Config
	// APIURL and Kubeconfig say where the API is; CAFile holds the authority of its certificates.
	APIURL, Kubeconfig, CAFile string
	// Rack is nil without a rack; Registry, where its machines are not simulated and the discovery image is not shared.
	Rack *sim.Rack
	// ConsolesDir has a folder for each virtual machine, with its serial console; empty: there are none.
	ConsolesDir string
	Registry    *localregistry.Registry

	machines *vm.Rack // nil: the machines of the rack are simulated

	options  Options
	rules    *plugin.Plugin
	plane    *controlplane.Server
	stopOnce sync.Once
	stopErr  error
}

// logbookDir is the folder of the data directory with the logbook of machines.
const logbookDir = "logbook"

// Start brings a whole system up and returns when everything answers. ctx bounds the start only.
// When it fails, what was started has been stopped again.
func Start(ctx context.Context, options Options) (*System, error) {
	if options.RegistryAddress == "" && options.Sim > 0 {
		options.RegistryAddress = rackRegistry
	}
	settings, err := options.check()
	if err == nil {
		err = options.checkPlaces()
	}
	if errors.Is(err, datadir.ErrInUse) || errors.Is(err, ErrPortsInUse) {
		return nil, err
	}
	options.Loopback, options.OwnCertificates = options.Rack(), true
	options.LogbookDirectory = cmp.Or(options.LogbookDirectory, filepath.Join(options.DataDir, logbookDir))
	rules := plugin.New()
	options.Beside = append(slices.Clip(options.Beside), rules.Beside(options.ManagerNamespace, options.ForeignBoot()))
	inner, systemErr := system.New(options.Options)
	if err := errors.Join(err, systemErr); err != nil {
		if inner != nil {
			err = errors.Join(err, inner.Stop())
		}
		return nil, err
	}
	s := &System{System: inner, options: options, rules: rules}
	if err := s.start(ctx, settings); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *System) start(ctx context.Context, settings rackSettings) error {
	if err := parkRestored(ctx, s.options.DataDir, s.options.Logger); err != nil {
		return fmt.Errorf("park the restored servers: %w", err)
	}
	if err := s.startAPI(ctx); err != nil {
		return err
	}
	if err := s.OwnBootStream(); err != nil {
		return err
	}
	if s.options.Rack() {
		if err := s.startRack(ctx, settings); err != nil {
			return err
		}
	}
	if err := s.startDiscovery(ctx); err != nil {
		return err
	}
	if err := s.System.Start(ctx, s.Config); err != nil {
		return err
	}
	if err := s.WaitReady(ctx); err != nil {
		return err
	}
	if s.Rack != nil && !s.options.SimWithoutEndpoints {
		return s.CreateEndpoints(ctx)
	}
	return nil
}

// startAPI starts the control plane and puts into it what Farrier needs: its kinds and its namespace.
func (s *System) startAPI(ctx context.Context) error {
	if err := controlplane.TuneCollector(); err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{
		DataDir: s.options.DataDir, KubeconfigPath: s.options.Kubeconfig, Address: s.options.APIAddress,
		AdminValidity: s.options.AdminValidity, Audit: s.options.audit(),
		AdmissionPlugins:  []controlplane.AdmissionPlugin{{Name: plugin.Name, Factory: s.rules.Factory}},
		UntrackedManagers: []string{metalv1.FieldManager}, Logger: s.options.Logger.WithName("api"),
	})
	if err != nil {
		return err
	}
	s.plane, s.Config = plane, plane.RESTConfig()
	if err := metrics.Registry.Register(diskMetrics{plane}); err != nil {
		return fmt.Errorf("metrics of the disk: %w", err)
	}
	s.APIURL, s.Kubeconfig, s.CAFile = plane.URL(), plane.Kubeconfig(), plane.CAFile()
	if err := s.UseIssuer(plane); err != nil {
		return err
	}
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	if err := controlplane.InstallCRDs(ctx, s.Config, crds); err != nil {
		return fmt.Errorf("install Farrier's custom resource definitions: %w", err)
	}
	if s.Client, err = client.New(s.Config, client.Options{Scheme: system.Scheme()}); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.options.ManagerNamespace}}
	if err := s.Client.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %q: %w", namespace.Name, err)
	}
	return nil
}

// OwnOperatorCA is the file with the authority of the operator address; empty: nothing is served there, or with a certificate of somebody
// else's.
func (s *System) OwnOperatorCA() string {
	if s.OperatorURL == "" || s.options.OperatorCertFile != "" {
		return ""
	}
	return s.CAFile
}

// Done is closed when the API has ended, for whatever reason.
func (s *System) Done() <-chan struct{} { return s.plane.Done() }

// Stop ends everything in the order in which the parts need each other: the API goes last. It may be
// called more than once.
func (s *System) Stop() error {
	s.stopOnce.Do(func() {
		errs := []error{s.System.Stop()}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if s.Rack != nil {
			errs = append(errs, s.Rack.Stop(ctx))
		}
		if s.machines != nil {
			errs = append(errs, s.machines.Close())
		}
		if s.Registry != nil {
			errs = append(errs, s.Registry.Stop())
		}
		if s.plane != nil {
			metrics.Registry.Unregister(diskMetrics{s.plane})
			errs = append(errs, s.plane.Stop())
		}
		s.stopErr = errors.Join(errs...)
	})
	return s.stopErr
}
