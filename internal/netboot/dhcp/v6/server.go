package v6

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
	"github.com/farrier-dev/farrier/internal/inbound/udp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
)

// limits are what an IPv6 host has to be able to put together (RFC 8200 §5), and more, and room for the requests of a hall that is switched on.
var limits = udp.Limits{Packet: 4 << 10, Waiting: 4 << 20, Queue: 4096}

// linesAMinute is how many lines of one kind the log gets.
const linesAMinute = 5

// ServerConfig is what a Server is made of.
type ServerConfig struct {
	Handler *Handler
	// Searches are our own, which get no answer.
	Searches dhcp.Searches
	Limiter  *dhcp.Limiter
	// Dropped is told of packets that nothing was decided about; nil: nobody is.
	Dropped func(dhcp.Reason)
	Logger  logr.Logger
	Clock   clock.PassiveClock
}

// Server answers on a socket of one interface.
type Server struct {
	ServerConfig

	malformed, noAddress, notSent *ratelimit.Lines
}

// NewServer makes one.
func NewServer(cfg ServerConfig) *Server {
	if cfg.Dropped == nil {
		cfg.Dropped = func(dhcp.Reason) {}
	}
	lines := func() *ratelimit.Lines { return ratelimit.NewLines(linesAMinute, time.Minute, cfg.Logger, cfg.Clock) }
	return &Server{ServerConfig: cfg, malformed: lines(), noAddress: lines(), notSent: lines()}
}

// Serve answers what comes to a socket until ctx ends, and closes the socket.
func (s *Server) Serve(ctx context.Context, conn *net.UDPConn) error {
	accept := func(packet []byte, from netip.AddrPort) (Request, bool) { return s.accept(bytes.Clone(packet), from) }
	return udp.ServeSorted(ctx, "DHCPv6", conn, limits, accept,
		func(q Request) { s.handle(conn, q) }, func(Request) { s.Dropped(dhcp.ReasonLimited) })
}

// accept decides whether a packet is answered at all. A flood gets no further than this.
func (s *Server) accept(packet []byte, from netip.AddrPort) (Request, bool) {
	q, err := decode(packet, from)
	if err != nil {
		s.Dropped(dhcp.ReasonMalformed)
		s.malformed.Logger().Info("malformed DHCP packet", "address", from.Addr().String(), "error", err)
		return q, false
	}
	if s.Searches.Are(q.Client()) {
		return q, false
	}
	if !s.Limiter.Client(q.client.key) {
		s.Dropped(dhcp.ReasonLimited)
		return q, false
	}
	q = s.Handler.lookUp(q)
	if !s.Limiter.Standing(q.Boot.Standing) {
		s.Dropped(dhcp.ReasonLimited)
		return q, false
	}
	return q, true
}

func (s *Server) handle(conn *net.UDPConn, q Request) {
	r := s.Handler.Handle(q)
	if r.Err != nil && !errors.Is(r.Err, lease.ErrNotOffered) {
		s.noAddress.Logger().Info("client gets no address", "address", q.From.Addr().String(), "mac", q.Client().MAC, "error", r.Err)
	}
	s.Handler.cfg.Boots.Answered(r.Event)
	if r.Reply == nil {
		return
	}
	if _, err := conn.WriteToUDPAddrPort(r.Reply, r.To); err != nil {
		s.notSent.Logger().Info("DHCP reply cannot be sent", "address", r.To.String(), "error", err)
	}
}
