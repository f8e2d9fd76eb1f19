package v4

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
	"github.com/farrier-dev/farrier/internal/inbound/udp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
)

const (
	// probeTime is how long an address is asked for before it is given to a new client. Hosts of a segment answer within milliseconds; firmware asks again after four seconds.
	probeTime = 500 * time.Millisecond
	// strangersProbed and knownProbed are how many clients may have theirs asked for at a time; one beyond that asks again. Strangers cannot use up what is for known
	// machines, of which as many may be new at once as a hall has.
	strangersProbed, knownProbed = 64, 4096
	// probeTries is how many addresses in a row may turn out to be taken.
	probeTries = 4
	// linesAMinute is how many lines of one kind the log gets.
	linesAMinute = 5
)

// limits are longer than what an Ethernet carries, and room for the requests of a hall that is switched on.
var limits = udp.Limits{Packet: 4 << 10, Waiting: 4 << 20, Queue: 4096}

// Segment sends and asks below UDP; link.Raw implements it.
type Segment interface {
	Send(from, to netip.AddrPort, mac net.HardwareAddr, payload []byte) error
	InUse(ctx context.Context, a netip.Addr, mac net.HardwareAddr) (bool, error)
}

// ServerConfig is what a Server is made of.
type ServerConfig struct {
	Handler *Handler
	Segment Segment
	// Searches are our own, which get no answer.
	Searches dhcp.Searches
	Limiter  *dhcp.Limiter
	// Dropped is told of packets that nothing was decided about; nil: nobody is.
	Dropped func(dhcp.Reason)
	Logger  logr.Logger
	Clock   clock.PassiveClock
}

// Server answers on sockets of one interface.
type Server struct {
	ServerConfig

	probing  probing
	layer2Ok sync.Once

	// The kinds of lines of the log that anybody can cause.
	malformed, cannotProbe, inUse, noAddress, notStored, notSent *ratelimit.Lines
}

// NewServer makes one.
func NewServer(cfg ServerConfig) *Server {
	if cfg.Dropped == nil {
		cfg.Dropped = func(dhcp.Reason) {}
	}
	lines := func() *ratelimit.Lines { return ratelimit.NewLines(linesAMinute, time.Minute, cfg.Logger, cfg.Clock) }
	return &Server{
		ServerConfig: cfg,
		malformed:    lines(), cannotProbe: lines(), inUse: lines(), noAddress: lines(), notStored: lines(), notSent: lines(),
	}
}

// Serve answers what comes to a socket of a port, until ctx ends, and closes the socket.
func (s *Server) Serve(ctx context.Context, conn *net.UDPConn, port uint16) error {
	defer s.probing.wait()
	accept := func(packet []byte, from netip.AddrPort) (Request, bool) {
		return s.accept(bytes.Clone(packet), netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), port)
	}
	return udp.ServeSorted(ctx, fmt.Sprintf("DHCP on port %d", port), conn, limits, accept,
		func(q Request) { s.handle(ctx, conn, q) }, func(Request) { s.Dropped(dhcp.ReasonLimited) })
}

// accept decides whether a packet is answered at all. A flood gets no further than this.
func (s *Server) accept(packet []byte, from netip.AddrPort, port uint16) (Request, bool) {
	q, err := decode(packet, from, port)
	switch {
	case err != nil:
		s.Dropped(dhcp.ReasonMalformed)
		s.malformed.Logger().Info("malformed DHCP packet", "address", from.Addr().String(), "mac", q.Client.MAC, "error", err)
		return q, false
	case s.Searches.Are(q.Client):
		return q, false
	case !s.Limiter.Client(q.Client.MAC):
		s.Dropped(dhcp.ReasonLimited)
		return q, false
	}
	q.Boot = s.Handler.cfg.Boots.Boot(q.Client)
	if !s.Limiter.Standing(q.Boot.Standing) {
		s.Dropped(dhcp.ReasonLimited)
		return q, false
	}
	return q, true
}

func (s *Server) handle(ctx context.Context, conn *net.UDPConn, q Request) {
	if s.probing.has(q.Client.MAC) {
		return // it asks again while its first request is being answered
	}
	r := s.Handler.Handle(q)
	if r.Reply == nil || !r.Probe.IsValid() {
		s.finish(conn, q, r)
		return
	}
	if !s.probing.start(q.Client.MAC, q.Boot.Standing == dhcp.Known, func() { s.probe(ctx, conn, q, r) }) {
		s.Dropped(dhcp.ReasonLimited)
	}
}

// probe offers a client an address that nobody else has.
func (s *Server) probe(ctx context.Context, conn *net.UDPConn, q Request, r Result) {
	for range probeTries {
		short, cancel := context.WithTimeout(ctx, probeTime)
		taken, err := s.Segment.InUse(short, r.Probe, q.Packet.ClientHWAddr)
		cancel()
		if err != nil {
			s.cannotProbe.Logger().Info("address cannot be probed for a conflict", "address", r.Probe.String(), "error", err)
		}
		if !taken || ctx.Err() != nil {
			s.finish(conn, q, r)
			return
		}
		s.inUse.Logger().Info("address is in use by a host without a lease", "address", r.Probe.String())
		if err := s.Handler.Conflicted(q, r.Probe); err != nil {
			return
		}
		if r = s.Handler.Handle(q); r.Reply == nil || !r.Probe.IsValid() {
			s.finish(conn, q, r)
			return
		}
	}
}

// finish sends a reply, and has what was decided recorded.
func (s *Server) finish(conn *net.UDPConn, q Request, r Result) {
	switch {
	case errors.Is(r.Err, lease.ErrExhausted), errors.Is(r.Err, lease.ErrNoRange), errors.Is(r.Err, lease.ErrTaken):
		s.noAddress.Logger().Info("client gets no address", "mac", q.Client.MAC, "error", r.Err)
	case r.Err != nil && !errors.Is(r.Err, lease.ErrNotOffered):
		s.notStored.Logger().Info("lease cannot be stored", "mac", q.Client.MAC, "error", r.Err)
	}
	if r.Reply != nil {
		if err := s.send(conn, r); err != nil {
			r.Event.Step = ""
			s.notSent.Logger().Info("DHCP reply cannot be sent", "address", r.To.Addr.String(), "mac", q.Client.MAC, "error", err)
		}
	}
	s.Handler.cfg.Boots.Answered(r.Event)
}

func (s *Server) send(conn *net.UDPConn, r Result) error {
	b := r.Reply.ToBytes()
	to := r.To
	if to.Way == Layer2 {
		err := s.Segment.Send(netip.AddrPortFrom(s.Handler.cfg.Server, ServerPort), to.Addr, to.MAC, b)
		if err == nil {
			return nil
		}
		// All hosts see it then, and the one that it is for takes it by its transaction.
		s.layer2Ok.Do(func() {
			s.Logger.Info("DHCP replies are broadcast, because the packet socket cannot be used", "error", err)
		})
		to.Addr = everybody
	}
	_, err := conn.WriteToUDPAddrPort(b, to.Addr)
	return err
}

// probing are the clients whose address is being probed.
type probing struct {
	mu sync.Mutex
	// clients are by MAC; true: a known machine. strangers counts the others.
	clients   map[string]bool
	strangers int
	running   sync.WaitGroup
}

func (p *probing) has(mac string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, has := p.clients[mac]
	return has
}

// start runs one in the background, unless there are too many.
func (p *probing) start(mac string, known bool, run func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients == nil {
		p.clients = map[string]bool{}
	}
	if !known && p.strangers >= strangersProbed || known && len(p.clients)-p.strangers >= knownProbed {
		return false
	}
	p.clients[mac] = known
	p.strangers += one(!known)
	p.running.Go(func() {
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.clients, mac)
			p.strangers -= one(!known)
		}()
		run()
	})
	return true
}

func one(counts bool) int {
	if counts {
		return 1
	}
	return 0
}

func (p *probing) wait() { p.running.Wait() }
