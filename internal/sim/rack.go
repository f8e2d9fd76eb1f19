package sim

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inbound/hostcheck"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// What a rack is when nothing else is said.
const (
	DefaultUsername    = "admin"
	DefaultPassword    = "hammer-and-anvil"
	DefaultAddress     = "0.0.0.0:0"
	DefaultBootTimeout = 10 * time.Minute
)

// Options describes a rack.
type Options struct {
	// Servers is the number of BMCs.
	Servers int
	// Address is where BMCs listen. With an unspecified IP address every BMC has
	// an address of its own and all have one port; with a concrete one every BMC
	// has a port of its own, counted up from the given one unless that is 0.
	Address string
	// Network is the part of 127.0.0.0/8 that addresses are taken from.
	Network netip.Prefix
	// BootURL is what a DHCP server tells machines to boot: the URL of an iPXE
	// script.
	BootURL func() string
	// BootRoots are the authorities that machines have in their firmware and images, for https; nil, or nil of it: those of the
	// system.
	BootRoots func() *x509.CertPool
	// Scheme is http or https; empty: http.
	Scheme string
	// Vendors are the personalities of BMCs, which take turns; none: Standard.
	Vendors []Vendor
	// SystemsPerBMC is how many machines stand behind each BMC; 0: one.
	SystemsPerBMC int
	// Faults are there from the start.
	Faults []fault.Spec
	// Username and Password are of the administrator of every BMC.
	Username, Password string
	Timing             Timing
	// Computers have the machines be real ones; nil: they are simulated.
	Computers *Computers
	// BootTimeout is how long a machine goes on trying to boot.
	BootTimeout time.Duration
	// SSH has each BMC have an SSH server that leads to the serial console of its first machine.
	SSH bool
	// Seed decides everything that is invented.
	Seed   int64
	Logger logr.Logger
	Clock  clock.Clock
	// listenShared listens for all BMCs at once; nil: as this system can.
	listenShared func(ctx context.Context, address string) (net.Listener, error)
}

// Timing is how long things take. Zero is no time at all.
type Timing struct {
	POST time.Duration // from power-on to the first boot source
	// BootRetry is how long firmware on which nothing boots waits before it goes through its boot order again, until
	// Options.BootTimeout has passed; zero: it does not. Vendors whose firmware does not as it is delivered never do.
	BootRetry time.Duration
	// Shutdown is from a graceful shutdown to Off; negative: the operating system
	// never listens.
	Shutdown time.Duration
	OSBoot   time.Duration // from the last file fetched to the running system
	Latency  time.Duration // of every answer of a BMC
	// ManagerReset is how long a BMC is away that was reset, Update how long it takes to
	// write firmware.
	ManagerReset, Update time.Duration
	Erase                time.Duration // of a disk by itself, however large it is
}

// DefaultTiming is that of a patient demonstration.
var DefaultTiming = Timing{POST: time.Second, BootRetry: 30 * time.Second, Shutdown: time.Second, OSBoot: time.Second, ManagerReset: 5 * time.Second, Update: 5 * time.Second}

// BMCInfo is what one has to know of a BMC to put it into a cluster. The UUID is
// that of the (first) system behind it.
type BMCInfo struct {
	// Number is what faults call it: 1 is the BMC with index 0.
	Number int        `json:"number"`
	Name   string     `json:"name"`
	Vendor Vendor     `json:"vendor"`
	Scheme string     `json:"scheme"`
	IP     netip.Addr `json:"ip"`
	Port   int        `json:"port"`
	MAC    string     `json:"mac"`
	UUID   string     `json:"uuid"`
	Serial string     `json:"serial"`
	// ManagerUUID is that of the BMC itself, SystemURI the path of its first server.
	ManagerUUID string `json:"managerUUID"`
	SystemURI   string `json:"systemURI"`
}

// URL is where the BMC answers.
func (i BMCInfo) URL() string {
	return i.Scheme + "://" + netip.AddrPortFrom(i.IP, uint16(i.Port)).String()
}

// Rack is a running rack.
type Rack struct {
	opts      Options
	password  [sha256.Size]byte
	faults    *fault.Table
	authority *authority  // nil: http
	secure    *tls.Config // likewise
	ctx       context.Context
	cancel    context.CancelFunc
	// deliveries are events on their way out.
	deliveries chan delivery
	bmcs       []*bmc
	byLocal    map[netip.AddrPort]*bmc
	shared     bool // one listener for all
	tree       http.Handler
	server     *http.Server
	ssh        *sshServers // nil: there are none
	running    sync.WaitGroup
	// stopping is held while a goroutine is added, so that none is once Stop has
	// begun to wait.
	stopping sync.Mutex
}

// Start opens a rack. It answers when Start returns; all machines are off. The
// context bounds the start only: Stop ends what was started.
func Start(ctx context.Context, opts Options) (*Rack, error) {
	opts = opts.withDefaults()
	if opts.Servers < 1 {
		return nil, fmt.Errorf("servers: %d: want at least one", opts.Servers)
	}
	addresses, err := newPlan(opts.Network, opts.Servers, opts.SystemsPerBMC)
	if err != nil {
		return nil, err
	}
	r := &Rack{
		opts: opts, password: digest(opts.Password), byLocal: make(map[netip.AddrPort]*bmc, opts.Servers), tree: newTree(),
		faults: fault.NewTable(opts.Seed, opts.Servers, opts.Clock), deliveries: make(chan delivery, deliveryQueue),
	}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	listeners, err := r.listen(ctx)
	if err != nil {
		return nil, err
	}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := r.fill(addresses, listeners); err != nil {
		r.cancel()
		closeAll(listeners)
		return nil, err
	}
	if err := r.listenSSH(ctx); err != nil {
		r.cancel()
		closeAll(listeners)
		return nil, err
	}
	r.serve(listeners)
	r.serveSSH()
	for range deliveryWorkers {
		r.spawn(r.deliverEvents)
	}
	return r, nil
}

// prepare does what can go wrong before anything listens.
func (r *Rack) prepare() error {
	for i, s := range r.opts.Faults {
		if _, err := r.setFault(s); err != nil {
			return fmt.Errorf("faults[%d]: %w", i, err)
		}
	}
	switch r.opts.Scheme {
	case "http":
		return nil
	case "https":
		var err error
		if r.authority, err = newAuthority(r.opts.Clock.Now); err == nil {
			r.secure = r.tlsConfig()
		}
		return err
	default:
		return fmt.Errorf("scheme %q: want http or https", r.opts.Scheme)
	}
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		_ = l.Close()
	}
}

func (o Options) withDefaults() Options {
	if o.Address == "" {
		o.Address = DefaultAddress
	}
	if o.Username == "" {
		o.Username = DefaultUsername
	}
	if o.Password == "" {
		o.Password = DefaultPassword
	}
	if o.BootTimeout == 0 {
		o.BootTimeout = DefaultBootTimeout
	}
	if o.Scheme == "" {
		o.Scheme = "http"
	}
	if o.SystemsPerBMC == 0 {
		o.SystemsPerBMC = 1
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.listenShared == nil {
		o.listenShared = listenShared
	}
	return o
}

// listen opens one listener for all BMCs, or one for each.
func (r *Rack) listen(ctx context.Context) ([]net.Listener, error) {
	host, portText, err := net.SplitHostPort(r.opts.Address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", r.opts.Address, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("address %q: port: %w", r.opts.Address, err)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		l, err := r.opts.listenShared(ctx, net.JoinHostPort("0.0.0.0", portText))
		if err == nil {
			r.shared = true
			return []net.Listener{l}, nil
		}
		if !errors.Is(err, errCannotShare) {
			return nil, fmt.Errorf("address %q: %w", r.opts.Address, err)
		}
		r.opts.Logger.Info("each BMC has a port of its own", "error", err)
		host = "127.0.0.1"
	}
	return r.listenEach(ctx, host, int(port))
}

// lastPort is the highest that there is.
const lastPort = 1<<16 - 1

// listenEach opens a listener for each BMC, at ports from the given one on.
func (r *Rack) listenEach(ctx context.Context, host string, port int) ([]net.Listener, error) {
	if last := port + r.opts.Servers - 1; port != 0 && last > lastPort {
		return nil, fmt.Errorf("address %q: %d BMCs need the ports %d to %d, and %d is the last one", r.opts.Address, r.opts.Servers, port, last, lastPort)
	}
	var listeners []net.Listener
	for i := range r.opts.Servers {
		at := 0
		if port != 0 {
			at = port + i
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(at)))
		if err != nil {
			closeAll(listeners)
			return nil, fmt.Errorf("address %q: BMC %d of %d, each of which has a port of its own: %w", r.opts.Address, i+1, r.opts.Servers, err)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// fill puts the servers in.
func (r *Rack) fill(addresses plan, listeners []net.Listener) error {
	for i := range r.opts.Servers {
		at := addrPort(listeners[0].Addr())
		if r.shared {
			at = netip.AddrPortFrom(addresses.bmc(i), at.Port())
		} else {
			at = addrPort(listeners[i].Addr())
		}
		quirks, err := personalityOf(r.opts.Vendors, i)
		if err != nil {
			return err
		}
		b := newBMC(r, i, quirks, at, addresses)
		r.bmcs = append(r.bmcs, b)
		r.byLocal[at] = b
	}
	return nil
}

func (r *Rack) serve(listeners []net.Listener) {
	logger := slog.New(logr.ToSlogHandler(r.opts.Logger.V(1)))
	r.server = &http.Server{
		Handler:           hostcheck.Handler(r),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      5 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelInfo),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, bmcKey{}, r.byLocal[addrPort(conn.LocalAddr())])
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			if b := r.byLocal[addrPort(conn.LocalAddr())]; b != nil {
				b.stats.connection(conn, state)
			}
		},
	}
	for _, l := range listeners {
		if r.secure != nil {
			l = tls.NewListener(l, r.secure)
		}
		r.running.Go(func() {
			if err := r.server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
				r.opts.Logger.Error(err, "BMC listener ended", "address", l.Addr().String())
			}
		})
	}
}

// BMCs lists the BMCs of the rack, in order.
func (r *Rack) BMCs() []BMCInfo {
	out := make([]BMCInfo, 0, len(r.bmcs))
	for i, b := range r.bmcs {
		out = append(out, BMCInfo{
			Number: i + 1, Name: b.name(), Vendor: b.quirks.vendor, Scheme: r.opts.Scheme,
			IP: b.at.Addr(), Port: int(b.at.Port()), MAC: b.mac, UUID: b.machines[0].uuid, Serial: b.machines[0].serial,
			ManagerUUID: managerUUID(b.machines[0].inventory), SystemURI: b.machines[0].systemURI(),
		})
	}
	return out
}

// Port is the port of the first BMC; of all of them, where each has an address of
// its own.
func (r *Rack) Port() int { return int(r.bmcs[0].at.Port()) }

// Machine is the first, and mostly the only, machine behind BMC i.
func (r *Rack) Machine(i int) *Machine { return r.bmcs[i].machines[0] }

// Machines are all machines behind BMC i.
func (r *Rack) Machines(i int) []*Machine { return slices.Clone(r.bmcs[i].machines) }

// SetPassword changes the administrator's password at BMC i, as somebody does
// who forgets to tell. Sessions of that account end.
func (r *Rack) SetPassword(i int, password string) {
	b := r.bmcs[i]
	b.setPassword(b.quirks.adminID, password)
}

// SetFault makes BMC i misbehave; nil ends that.
func (r *Rack) SetFault(i int, f Fault) {
	b := r.bmcs[i]
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = f
}

// Stats counts what BMC i was asked for.
func (r *Rack) Stats(i int) Stats { return r.bmcs[i].stats.snapshot() }

// Stop turns everything off and waits until nothing of the rack runs any more,
// at most as long as the context.
func (r *Rack) Stop(ctx context.Context) error {
	r.stopping.Lock()
	r.cancel()
	r.stopping.Unlock()
	_ = r.server.Close()
	done := make(chan struct{})
	go func() {
		r.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("rack still runs: %w", ctx.Err())
	}
}
