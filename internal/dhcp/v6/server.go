package v6

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/dhcp"
	"github.com/farrier-dev/farrier/internal/dhcp/lease"
	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
	"github.com/farrier-dev/farrier/internal/inbound/udp"
)

// limits are what an IPv6 host has to be able to put together (RFC 8200 §5), and more, and room for the requests of a hall that is switched on.
var limits = udp.Limits{Packet: 4 << 10, Waiting: 4 << 20}

// linesAMinute is how many lines of one kind the log gets.
const linesAMinute = 5

// ServerConfig is what a Server is made of.
type ServerConfig struct {
	Handler *Handler
	Limiter *dhcp.Limiter
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
	return udp.Serve(ctx, "DHCPv6", conn, limits, func(packet []byte, from netip.AddrPort) {
		b, to := s.answer(packet, from)
		if b == nil {
			return
		}
		if _, err := conn.WriteToUDPAddrPort(b, to); err != nil {
			s.notSent.Logger().Info("DHCP reply cannot be sent", "address", to.String(), "error", err)
		}
	})
}

// answer handles a packet, and returns what is to be sent.
func (s *Server) answer(packet []byte, from netip.AddrPort) ([]byte, netip.AddrPort) {
	q, err := s.Handler.Read(packet, from)
	if err != nil {
		s.Dropped(dhcp.ReasonMalformed)
		s.malformed.Logger().Info("malformed DHCP packet", "address", from.Addr().String(), "error", err)
		return nil, netip.AddrPort{}
	}
	if !s.Limiter.Allow(q.Client(), q.Boot.Standing) {
		s.Dropped(dhcp.ReasonLimited)
		return nil, netip.AddrPort{}
	}
	r := s.Handler.Handle(q)
	if r.Err != nil && !errors.Is(r.Err, lease.ErrNotOffered) {
		s.noAddress.Logger().Info("client gets no address", "address", from.Addr().String(), "mac", q.Client().MAC, "error", r.Err)
	}
	s.Handler.cfg.Boots.Answered(r.Event)
	return r.Reply, r.To
}
