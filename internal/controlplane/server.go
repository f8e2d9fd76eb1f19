package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
	"github.com/farrier-dev/farrier/internal/controlplane/kubeconfig"
)

// DefaultAddress is where the API listens when nothing else is asked for: where people expect a Kubernetes API, on loopback.
const DefaultAddress = "127.0.0.1:6443"

// DefaultKubeconfig is the name of the kubeconfig in the data directory.
const DefaultKubeconfig = "kubeconfig"

const (
	// startTimeout bounds the wait for /readyz. A start takes about a second; a large store on a slow disk may take longer.
	startTimeout = 2 * time.Minute
	// drainTimeout bounds how long requests in flight may hold up Stop before the store is closed under them.
	drainTimeout = 15 * time.Second
)

// Options say where the control plane keeps its state and where it listens.
type Options struct {
	// DataDir holds everything that outlives the process. It is created when missing. Required.
	DataDir string
	// KubeconfigPath is where the administrator's kubeconfig is written on every start; DataDir/kubeconfig when empty. Beside it is
	// a file with the certificate, which is renewed while the server runs.
	KubeconfigPath string
	// AdminValidity is how long that certificate is valid, kubeconfig.MaxValidity when zero.
	AdminValidity time.Duration
	// Audit says what is recorded of requests.
	Audit Audit
	// Address is the IP and port to listen on, DefaultAddress when empty; port 0 is any free one.
	Address string
	// AdmissionPlugins run in this order before every other admission plugin.
	AdmissionPlugins []AdmissionPlugin
	// UntrackedManagers are field managers: who set which field is not recorded in what they create (metadata.managedFields),
	// until somebody uses server-side apply on it.
	UntrackedManagers []string
	Logger            logr.Logger
	// StoreQuota bounds the bytes of the store's database; zero: etcdQuota.
	StoreQuota int64
	// Clock dates certificates; the real one when nil.
	Clock clock.WithTicker
}

func (o *Options) setDefaults() error {
	if o.DataDir == "" {
		return errors.New("no data directory (--data-dir)")
	}
	if o.Address == "" {
		o.Address = DefaultAddress
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.AdminValidity = cmp.Or(o.AdminValidity, kubeconfig.MaxValidity)
	if o.AdminValidity < kubeconfig.MinValidity || o.AdminValidity > kubeconfig.MaxValidity {
		return fmt.Errorf("--admin-certificate-validity: %s is not between %s and %s", o.AdminValidity, kubeconfig.MinValidity, kubeconfig.MaxValidity)
	}
	return o.Audit.check()
}

// Server is a running control plane.
type Server struct {
	logger     logr.Logger
	restConfig *rest.Config
	url        string
	kubeconfig string
	issued     *certificates

	store       *Store
	api         *apiServer
	controllers *controllers
	renewal     func()         // ends the renewal of the administrator's certificate
	release     []func() error // what closes last, in the order it was opened

	stop     chan struct{}
	stopOnce sync.Once
	done     chan struct{}
	err      error // valid once done is closed
}

// Start brings the control plane up and returns when /readyz says ok. The context bounds the start only; Stop ends what was started.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if err := opts.setDefaults(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	s := &Server{logger: opts.Logger, stop: make(chan struct{}), done: make(chan struct{})}
	routeLogs(opts.Logger)
	if err := s.start(ctx, opts); err != nil {
		return nil, errors.Join(err, s.shutdown())
	}
	go s.supervise()
	return s, nil
}

// start assembles the parts in the order in which they depend on each other. Whatever it got to is undone by shutdown.
func (s *Server) start(ctx context.Context, opts Options) error {
	if err := roomToStart(opts.DataDir); err != nil {
		return err
	}
	dir, err := datadir.Open(opts.DataDir)
	if err != nil {
		return err
	}
	s.release = append(s.release, dir.Close)

	listener, err := listen(ctx, opts.Address)
	if err != nil {
		return err
	}
	s.release = append(s.release, func() error { return s.closeListener(listener) })

	certificates, err := openCertificates(dir, listener.Addr().(*net.TCPAddr).IP, opts.Clock.Now())
	if err != nil {
		return err
	}
	s.issued = certificates
	encryption, err := ensureEncryption(dir)
	if err != nil {
		return err
	}
	if s.store, err = startStore(ctx, dir, opts); err != nil {
		return err
	}
	auditDir, err := dir.Private(auditDir)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	s.api, err = newAPIServer(ctx, apiConfig{
		listener:     listener,
		certificates: certificates,
		encryption:   encryption,
		etcdEndpoint: s.store.etcd.endpoint,
		plugins:      slices.Concat([]AdmissionPlugin{newRoomAdmission(s.Room)}, opts.AdmissionPlugins, []AdmissionPlugin{newFieldOwners(opts.UntrackedManagers)}),
		room:         s.Room,
		audit:        opts.Audit,
		auditDir:     auditDir,
	})
	if err != nil {
		return err
	}
	s.url, s.restConfig = serverURL(listener.Addr().(*net.TCPAddr)), s.api.inProcess()
	if err := s.api.run(ctx, s.restConfig); err != nil {
		return err
	}
	if err := ensureAccess(ctx, s.api.loopback()); err != nil {
		return err
	}
	if s.controllers, err = startControllers(s.api.loopback()); err != nil {
		return err
	}
	s.kubeconfig = cmp.Or(opts.KubeconfigPath, dir.Join(DefaultKubeconfig))
	return s.admit(opts)
}

// admit writes the administrator's kubeconfig on every start, because port and certificates may have changed, and renews the certificate.
func (s *Server) admit(opts Options) error {
	admin := &kubeconfig.Admin{
		Authority: s.issued.authority, URL: s.url, Path: s.kubeconfig, Validity: opts.AdminValidity, Clock: opts.Clock, Logger: opts.Logger,
	}
	if err := admin.Write(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { admin.Run(ctx) })
	s.renewal = func() {
		cancel()
		running.Wait()
	}
	return nil
}

// supervise waits for the reason to end and then ends everything.
func (s *Server) supervise() {
	defer close(s.done)
	var cause error
	select {
	case <-s.stop:
	case <-s.api.done:
		cause = endedByItself("the API server", s.api.err)
	case err := <-s.store.etcd.failed:
		cause = endedByItself("etcd", err)
	}
	s.err = errors.Join(cause, s.shutdown())
}

func endedByItself(part string, err error) error {
	if err == nil {
		return fmt.Errorf("%s stopped unexpectedly", part)
	}
	return fmt.Errorf("%s stopped unexpectedly: %w", part, err)
}

// shutdown stops the parts in reverse order: controllers while the API still answers them, the API while the store still answers it, then
// the store, then the lock.
func (s *Server) shutdown() error {
	quietLogs()
	var errs []error
	if s.renewal != nil {
		s.renewal()
	}
	if s.controllers != nil {
		s.controllers.stop()
	}
	if s.api != nil {
		errs = append(errs, s.api.stop(drainTimeout))
	}
	if s.store != nil {
		errs = append(errs, s.store.Stop())
	}
	for i := len(s.release) - 1; i >= 0; i-- {
		errs = append(errs, s.release[i]())
	}
	return errors.Join(errs...)
}

// RESTConfig returns a connection for this process, which may do everything for as long as the server runs, without a client-side rate limit:
// the API server has one of its own.
func (s *Server) RESTConfig() *rest.Config { return rest.CopyConfig(s.restConfig) }

// URL is the base of the API, with the port it really listens on.
func (s *Server) URL() string { return s.url }

// Kubeconfig is the path of the administrator's kubeconfig.
func (s *Server) Kubeconfig() string { return s.kubeconfig }

// Stop ends the control plane and returns when nothing of it runs any more and the data directory is free.
func (s *Server) Stop() error {
	s.stopOnce.Do(func() { close(s.stop) })
	<-s.done
	return s.err
}

// Done is closed when the control plane has ended, after Stop or because it failed.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err says why the control plane ended; nil while it runs and after an orderly Stop.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("API address %s (--api-address) is taken by another process; choose another port, or 0 for any free one", address)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("API address %s (--api-address): this user may not listen there: %w", address, err)
	case err != nil:
		return nil, fmt.Errorf("API address %s (--api-address): %w", address, err)
	}
	return listener, nil
}

// closeListener closes what the API server did not close. One that did not stop in time keeps its listener, as it panics when somebody else closes it
// (RunServer in k8s.io/apiserver/pkg/server), and nobody would read why the control plane ends.
func (s *Server) closeListener(listener net.Listener) error {
	if s.api != nil && s.api.serves() {
		return nil
	}
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
