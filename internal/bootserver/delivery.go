package bootserver

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// Delivery is one answer to one machine.
type Delivery = bootview.Delivery

// DeliveryKind says what was given.
type DeliveryKind = bootview.DeliveryKind

// The kinds, see bootview.
const (
	Chainload = bootview.DeliveredChainload
	Script    = bootview.DeliveredScript
	UKI       = bootview.DeliveredUKI
	Artifact  = bootview.DeliveredArtifact
	Ignition  = bootview.DeliveredIgnition
	Program   = bootview.DeliveredProgram
)

// delivered reports an answer to m, which may be nil. HEAD delivers nothing.
func (s *Server) delivered(r *http.Request, kind DeliveryKind, m *bootview.Machine, entry string, status int) {
	if r.Method != http.MethodGet {
		return
	}
	d := Delivery{Kind: kind, Entry: entry, Addr: callerText(r), Time: s.cfg.Clock.Now(), Status: status}
	if m != nil {
		d.UUID, d.Attempt = m.UUID, m.Attempt.ID
	}
	s.cfg.Deliver(d)
}

// callerText is the caller's address as text, cut out of host:port.
func callerText(r *http.Request) string {
	host := r.RemoteAddr
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// caller is the caller's address, invalid when the connection has none.
func caller(r *http.Request) netip.Addr {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr().Unmap().WithZone("")
}
