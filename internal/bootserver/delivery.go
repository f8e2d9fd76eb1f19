package bootserver

import (
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// DeliveryKind says what was given.
type DeliveryKind string

// What machines are given, in the order in which a boot asks for it.
const (
	Chainload DeliveryKind = "Chainload"
	Script    DeliveryKind = "Script"
	UKI       DeliveryKind = "UKI"
	Artifact  DeliveryKind = "Artifact"
	Ignition  DeliveryKind = "Ignition"
)

// Delivery is one answer to one machine. For Chainload and for artifacts that an unknown
// address asked for, only Addr says who it was.
type Delivery struct {
	Kind    DeliveryKind
	Entry   string // name of the bootview entry it came from
	UUID    string
	Attempt string // id
	Addr    string
	Time    time.Time
	Status  int // HTTP status; a refusal is reported too, when the machine is known
}

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
