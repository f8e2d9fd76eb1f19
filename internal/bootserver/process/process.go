package process

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootserver/setup"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/outbox"
	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/host/cgroup"
	"github.com/farrier-dev/farrier/internal/host/neighbour"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
	"github.com/farrier-dev/farrier/internal/inbound"
	"github.com/farrier-dev/farrier/internal/inbound/boottls"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/service"
	"github.com/farrier-dev/farrier/internal/program/version"
)

// process is a boot server that stands apart.
type process struct {
	o        *Options
	settings *setup.Settings
	clock    clock.WithTicker
	started  time.Time
	logger   logr.Logger

	certificates *certificates
	disk         *disk
	outbox       *outbox.Outbox
	status       *status
	feed         *feed
	follower     *bootstream.Follower
	teller       *teller
	blobs        *blobcache.Cache
	boot         *bootserver.Server
	// tls is what machines are shown; nil: no TLS.
	tls *boottls.Identity

	machines, operators *inbound.Budget
	metrics             *prometheus.Registry
	// listeners are all that were opened, serving is what answers on them.
	listeners []net.Listener
	serving   []part
}

// part runs until its context ends.
type part func(context.Context) error

// run runs a boot server until ctx ends or a part fails.
func run(ctx context.Context, o Options) error {
	p, err := newProcess(&o, clock.RealClock{})
	if err != nil {
		return err
	}
	return errors.Join(p.run(ctx), p.close())
}

// newProcess checks everything that was said and opens what is there. Nothing is answered yet.
func newProcess(o *Options, c clock.WithTicker) (*process, error) {
	settings, err := o.check()
	if err != nil {
		return nil, err
	}
	p := &process{o: o, settings: settings, clock: c, started: c.Now(), logger: o.Logger, status: newStatus(c, o.ServeStale), metrics: prometheus.NewRegistry()}
	logger := p.logger.WithName("connections")
	p.machines = inbound.New("machines", settings.Shares.Machines, clock.RealClock{}, logger)
	p.operators = inbound.New("operators", settings.Shares.Operators, clock.RealClock{}, logger)
	settings.LogConnections(logger)
	if err := p.open(); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *process) open() (err error) {
	var kept bootstream.Kept
	if p.disk, kept, err = openDisk(p.o, p.logger.WithName("stream")); err != nil {
		return err
	}
	if p.certificates, err = newCertificates(p.o, p.clock, p.logger.WithName("stream")); err != nil {
		return err
	}
	if p.blobs, err = p.settings.NewBlobs(p.settings.Registries(p.logger.WithName("images"))); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	p.outbox = outbox.Open(outbox.Config{Dir: p.disk.dir, Key: p.disk.key, Logger: p.logger.WithName("stream"), Clock: p.clock})
	names, err := p.listenForMachines()
	if err != nil {
		return err
	}
	if err := p.assemble(names, kept); err != nil {
		return err
	}
	if err := p.register(); err != nil {
		return err
	}
	return p.listenForOperators()
}

// assemble puts the view between the stream and the answers.
func (p *process) assemble(names []string, kept bootstream.Kept) (err error) {
	view, profiles := bootview.New(), profile.NewView(p.clock, nil)
	var instances *bootview.Instances
	if p.o.Metadata {
		instances = &bootview.Instances{}
	}
	p.feed = &feed{views: records.NewViews(view, profiles, instances, p.blobs), base: p.settings.Sites.Of("").Object(), images: p.o.ImageServerURL}
	p.follower = bootstream.NewFollower(bootstream.FollowerOptions{
		Managers: p.o.Managers, Credentials: p.certificates, Instance: rand.Text(), Applier: p.feed, Keeper: p.disk.keeper(),
		Moved: p.status.moved, Health: p.health, Clock: p.clock, Logger: p.logger.WithName("stream"),
	})
	p.teller = &teller{manager: p.follower.Connected, outbox: p.outbox, status: p.status, clock: p.clock, logger: p.logger.WithName("stream")}
	p.boot, err = bootserver.New(p.settings.Fill(bootserver.Config{
		View: view, Profiles: profiles, Blobs: p.blobs, Reports: reports{p.follower}, Instances: instances, DefaultUKI: p.feed.getDefaultUKI,
		Sighted: p.outbox.Sight, Deliver: p.outbox.Deliver, Bound: p.outbox.Bind, Alarm: p.outbox.Alarm, Early: p.outbox.Early,
		Revision: p.status.revision, Ready: p.status.ready, SecretsExpired: p.status.secretsExpired, Others: true,
		Neighbour: neighbour.New(clock.RealClock{}).MAC, Names: names, Logger: p.logger.WithName("boot"),
	}))
	if err != nil {
		return err
	}
	p.load(kept)
	m := service.NewMetrics()
	answers := p.settings.DHCP(p.boot, m, p.logger.WithName("dhcp"))
	answers.Sighted = p.leased
	p.serving = append(p.serving, answers.Run)
	return p.metrics.Register(m)
}

// leased has a manager told of a client that has an address.
func (p *process) leased(c dhcp.Sighting) {
	l := &streampb.Lease{
		Mac: c.Client.MAC, Address: c.Addr.String(), Machine: c.Machine, Addresses: uint32(min(max(c.Addresses, 0), math.MaxUint32)), Host: c.Client.Host, Vendor: c.Client.Vendor,
	}
	for _, held := range c.Held {
		l.Held = append(l.Held, held.String())
	}
	p.outbox.Lease(l)
}

// load takes over the view of the last run, if it may count.
func (p *process) load(kept bootstream.Kept) {
	if kept.Progress == nil {
		return
	}
	p.follower.Load(kept)
	heard := kept.Progress.Heard
	if p.status.fresh() {
		p.feed.accept(true)
		p.logger.Info("serving the view of the last run until a manager sends the view", "records", p.status.now.Load().Records, "since", heard.UTC().Format(time.RFC3339))
		return
	}
	p.logger.Info("view of the last run is too old, waiting for a manager to send the view", "flag", "--serve-stale", "since", heard.UTC().Format(time.RFC3339))
}

// listenForMachines opens the listeners for machines, and returns under which names they are reached beside the boot URLs.
func (p *process) listenForMachines() (names []string, err error) {
	o := p.o
	var plain, secure string
	if o.BootAddress != "" {
		l, err := p.listen("boot-address", o.BootAddress)
		if err != nil {
			return nil, err
		}
		plain = setup.DeriveURL(l.Addr(), false, false)
		p.serving = append(p.serving, func(ctx context.Context) error { return p.boot.Serve(ctx, p.machines.Listener(l)) })
	}
	if o.BootTLSAddress != "" {
		l, err := p.listen("boot-tls-address", o.BootTLSAddress)
		if err != nil {
			return nil, err
		}
		secure = setup.DeriveURL(l.Addr(), false, true)
		p.serving = append(p.serving, func(ctx context.Context) error {
			return p.boot.ServeTLS(ctx, p.machines.TLSListener(l, p.settings.Pace()), p.tls.ServerConfig(o.BootTLSForwardSecrecy))
		})
	}
	p.settings.ReachedAt(plain, secure)
	names = p.settings.TLSNames()
	if o.BootTLSAddress != "" {
		if p.tls, err = boottls.FromFiles(p.settings.TLSFiles(), setup.TLSOptions(names, p.logger.WithName("boot"))); err != nil {
			return nil, err
		}
	} else if _, err := p.settings.TLSFiles().ReadCA(); err != nil {
		return nil, err
	}
	if o.ImageAddress != "" {
		l, err := p.listen("image-address", o.ImageAddress)
		if err != nil {
			return nil, err
		}
		p.serving = append(p.serving, func(ctx context.Context) error { return p.boot.ServeImages(ctx, p.machines.Listener(l)) })
	}
	return names, nil
}

func (p *process) listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	p.listeners = append(p.listeners, l)
	return l, nil
}

// run answers until ctx ends. What machines were given while it ends still reaches a manager, if there is one: the stream ends last.
func (p *process) run(ctx context.Context) error {
	limit, err := cgroup.LimitHeap(os.LookupEnv, os.ReadFile)
	if err != nil {
		return err
	}
	p.logger.V(1).Info("garbage collection tuned", "limit", limit)
	p.logger.Info("started", "version", version.String(), "url", p.settings.Sites.Of("").Object(), "managers", p.o.Managers)
	stream := start(context.WithoutCancel(ctx), p.follow, p.certificates.run, p.certificates.watch, p.keep, p.watchAge)
	telling := start(context.WithoutCancel(ctx), p.teller.Run)
	answers := start(ctx, append(p.serving, p.watchTLS)...)
	select {
	case <-ctx.Done():
		p.logger.Info("stopping")
	case err = <-answers.failed:
	case err = <-stream.failed:
	}
	answers.stop()
	telling.stop()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if err := p.teller.flush(last); err != nil {
		p.logger.Info("manager not told everything before the end", "messages", p.outbox.Waiting(), "error", err)
	}
	stream.stop()
	return err
}

// follow follows managers once there is a certificate.
func (p *process) follow(ctx context.Context) error {
	select {
	case <-p.certificates.known:
	case <-ctx.Done():
		return nil
	}
	if err := p.metrics.Register(p.certificates.identity.Load()); err != nil {
		return err
	}
	return p.follower.Run(ctx)
}

// watchTLS looks for newer files of the certificate that machines are shown.
func (p *process) watchTLS(ctx context.Context) error {
	if p.tls == nil {
		return nil
	}
	return p.tls.Run(ctx)
}

// close makes what waits durable and gives everything back.
func (p *process) close() error {
	var errs []error
	for _, l := range p.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if p.outbox != nil {
		errs = append(errs, p.outbox.Close())
	}
	if p.blobs != nil {
		errs = append(errs, p.blobs.Close())
	}
	if p.disk != nil {
		errs = append(errs, p.disk.close())
	}
	return errors.Join(errs...)
}

// group is parts that run together.
type group struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	failed  chan error
}

func start(ctx context.Context, parts ...part) *group {
	ctx, cancel := context.WithCancel(ctx)
	g := &group{cancel: cancel, failed: make(chan error, len(parts))}
	for _, run := range parts {
		g.running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				g.failed <- err
			}
		})
	}
	return g
}

// stop ends the parts and waits for them.
func (g *group) stop() {
	g.cancel()
	g.running.Wait()
}
