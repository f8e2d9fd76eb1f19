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
	Report    = bootview.ReceivedReport
	BootState = bootview.ReceivedBootState
)

// delivered reports an answer to m, which may be nil. HEAD delivers nothing.
func (s *Server) delivered(r *http.Request, kind DeliveryKind, m *bootview.Machine, entry string, status, bytes int) {
	if r.Method != http.MethodGet {
		return
	}
	d := Delivery{Kind: kind, Entry: entry, Addr: callerText(r), Time: s.cfg.Clock.Now(), Status: status, Bytes: int64(bytes)}
	if m != nil && m.Session() != nil {
		s.account(&d, caller(r), m)
	}
	if kind == Script && m != nil {
		s.deliverEarlier(s.callers.isAt(d.Addr, m, d.Time), m.UUID, m.Attempt().ID)
	}
	if m != nil {
		d.UUID, d.Attempt = m.UUID, m.Attempt().ID
	}
	s.cfg.Deliver(d)
}

// deliverEarlier reports what was asked for before it was known by whom. Where that is not known now either, nobody can say whose boot they are
// part of.
func (s *Server) deliverEarlier(earlier []Delivery, uuid, attempt string) {
	if uuid == "" {
		return
	}
	for _, d := range earlier {
		d.UUID, d.Attempt = uuid, attempt
		s.cfg.Deliver(d)
	}
}

// deliveredToAddress reports an answer that is for anyone, so that the address is all there is to say whose boot it is part of: for an
// artifact that of the machine that has asked for its script from there, else of the one that is known to have it. What comes
// before a script and is nobody's waits for one. name tells what it is, with the machine in hand, which may be nil.
func (s *Server) deliveredToAddress(r *http.Request, kind DeliveryKind, status int, bytes int64, name func(*bootview.Machine) string) {
	if r.Method != http.MethodGet {
		return
	}
	d := Delivery{Kind: kind, Addr: callerText(r), Time: s.cfg.Clock.Now(), Status: status, Bytes: bytes}
	var m *bootview.Machine
	if kind == Artifact { // all else is asked for before a script, or without one
		m, d.UUID, d.Entry = s.callers.asked(d.Addr, d.Time)
	}
	if m == nil && d.UUID == "" {
		if found, lookup := s.view.ByIP(caller(r)); lookup == bootview.Found {
			m = found
		}
	}
	if name != nil {
		d.What = name(m)
	}
	switch {
	case m != nil:
		d.UUID, d.Attempt = m.UUID, m.Attempt().ID
		if m.Session() != nil {
			s.account(&d, caller(r), m)
		}
		switch {
		case kind.IsFile():
			d.Entry = m.FileEntry()
		case kind == Artifact:
			d.Entry = m.ScriptEntry()
		}
	case kind == Chainload, kind == Program:
		s.callers.wait(d)
	}
	s.cfg.Deliver(d)
}

// account tells the machine that boots from strangers, and notes what it was given.
func (s *Server) account(d *Delivery, from netip.Addr, m *bootview.Machine) {
	bound := m.Session().Bound()
	if bound.IsZero() {
		return
	}
	if d.Stranger = bound.Addr != from; d.Stranger {
		return
	}
	d.MAC = bound.MAC
	if d.Status < http.StatusMultipleChoices {
		m.Session().Fetch(d.Kind)
	}
}

// received reports what a machine has sent, and how that was answered.
func (s *Server) received(r *http.Request, kind DeliveryKind, uuid, attempt string, status int) {
	s.cfg.Deliver(Delivery{
		Kind: kind, UUID: uuid, Attempt: attempt, Addr: callerText(r), Time: s.cfg.Clock.Now(), Status: status, Bytes: max(r.ContentLength, 0),
	})
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
