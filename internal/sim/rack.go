package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
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
	// Username and Password are of the administrator of every BMC.
	Username, Password string
	Timing             Timing
	// BootTimeout is how long a machine goes on trying to boot.
	BootTimeout time.Duration
	// Seed decides everything that is invented.
	Seed   int64
	Logger logr.Logger
	Clock  clock.Clock
}

// Timing is how long things take. Zero is no time at all.
type Timing struct {
	POST time.Duration // from power-on to the first boot source
	// Shutdown is from a graceful shutdown to Off; negative: the operating system
	// never listens.
	Shutdown time.Duration
	OSBoot   time.Duration // from the last file fetched to the running system
	Latency  time.Duration // of every answer of a BMC
}

// DefaultTiming is that of a patient demonstration.
var DefaultTiming = Timing{POST: time.Second, Shutdown: time.Second, OSBoot: time.Second}

// BMCInfo is what one has to know of a BMC to put it into a cluster. The UUID is
// that of the system behind it.
type BMCInfo struct {
	Name   string     `json:"name"`
	IP     netip.Addr `json:"ip"`
	Port   int        `json:"port"`
	MAC    string     `json:"mac"`
	UUID   string     `json:"uuid"`
	Serial string     `json:"serial"`
}

// Rack is a running rack.
type Rack struct {
	opts    Options
	ctx     context.Context
	cancel  context.CancelFunc
	bmcs    []*bmc
	byLocal map[netip.AddrPort]*bmc
	shared  bool // one listener for all
	tree    http.Handler
	server  *http.Server
	running sync.WaitGroup
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
	addresses, err := newPlan(opts.Network, opts.Servers)
	if err != nil {
		return nil, err
	}
	r := &Rack{opts: opts, byLocal: make(map[netip.AddrPort]*bmc, opts.Servers), tree: newTree()}
	listeners, err := r.listen(ctx)
	if err != nil {
		return nil, err
	}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.fill(addresses, listeners)
	r.serve(listeners)
	return r, nil
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
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
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
		l, err := listenShared(ctx, net.JoinHostPort("0.0.0.0", portText))
		if err == nil {
			r.shared = true
			return []net.Listener{l}, nil
		}
		if !errors.Is(err, errCannotShare) {
			return nil, fmt.Errorf("address %q: %w", r.opts.Address, err)
		}
		r.opts.Logger.Info("every BMC gets a port of its own", "reason", err.Error())
		host = "127.0.0.1"
	}
	return r.listenEach(ctx, host, int(port))
}

func (r *Rack) listenEach(ctx context.Context, host string, port int) ([]net.Listener, error) {
	var listeners []net.Listener
	for i := range r.opts.Servers {
		at := 0
		if port != 0 {
			at = port + i
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(at)))
		if err != nil {
			for _, open := range listeners {
				_ = open.Close()
			}
			return nil, fmt.Errorf("address %q: %w", r.opts.Address, err)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// fill puts the servers in.
func (r *Rack) fill(addresses plan, listeners []net.Listener) {
	for i := range r.opts.Servers {
		at, machineIP := addrPort(listeners[0].Addr()), addresses.machine(i)
		if r.shared {
			at = netip.AddrPortFrom(addresses.bmc(i), at.Port())
		} else {
			at = addrPort(listeners[i].Addr())
		}
		b := newBMC(r, newInventory(r.opts.Seed, i), at, machineIP)
		r.bmcs = append(r.bmcs, b)
		r.byLocal[at] = b
	}
}

func (r *Rack) serve(listeners []net.Listener) {
	logger := slog.New(logr.ToSlogHandler(r.opts.Logger.V(1)))
	r.server = &http.Server{
		Handler:           r,
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
		r.running.Go(func() {
			if err := r.server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
				r.opts.Logger.Error(err, "a BMC listener ended", "address", l.Addr().String())
			}
		})
	}
}

// BMCs lists the BMCs of the rack, in order.
func (r *Rack) BMCs() []BMCInfo {
	out := make([]BMCInfo, 0, len(r.bmcs))
	for i, b := range r.bmcs {
		out = append(out, BMCInfo{
			Name: fmt.Sprintf("sim-%04d", i+1), IP: b.at.Addr(), Port: int(b.at.Port()),
			MAC: b.machine.mac, UUID: b.machine.uuid, Serial: b.machine.serial,
		})
	}
	return out
}

// Port is the port of the first BMC; of all of them, where each has an address of
// its own.
func (r *Rack) Port() int { return int(r.bmcs[0].at.Port()) }

// Machine is the machine behind BMC i.
func (r *Rack) Machine(i int) *Machine { return r.bmcs[i].machine }

// SetPassword changes the administrator's password at BMC i, as somebody does
// who forgets to tell. Sessions of that account end.
func (r *Rack) SetPassword(i int, password string) {
	r.bmcs[i].setPassword(firstAccountID, password)
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
