package bootserver

import (
	"net/http"
	"net/netip"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

// DHCP and TFTP ask the boot server in process what a machine gets, so that they never tell it anything else than HTTP does.

var _ dhcp.Boots = (*Server)(nil)

// pathDHCP is what a machine asked for that was seen on DHCP alone.
const pathDHCP = "DHCP "

// Boot is what the boot server would tell a machine, by its UUID, else by the MAC address that it boots from.
func (s *Server) Boot(c dhcp.Client) dhcp.Boot {
	m, status := s.view.Find(c.UUID, c.MAC, "")
	if status == bootview.Unsynced {
		return dhcp.Boot{Standing: dhcp.Unsynced}
	}
	asked := netip.IPv4Unspecified()
	if c.IPv6 {
		asked = netip.IPv6Unspecified()
	}
	near := s.cfg.Sites.Of("")
	b := dhcp.Boot{UUID: c.UUID}
	base, script := near.For(asked), "/boot.ipxe"
	if status != bootview.Unknown || s.cfg.Known != nil && s.cfg.Known(c.UUID, c.MAC) {
		b.Standing, script = dhcp.Known, "/ipxe"
	}
	if status == bootview.Found {
		base = s.cfg.Sites.Of(m.Site).For(asked)
		b.Attempt, b.Entry = m.Attempt().ID, m.ScriptEntry()
		if m.FileEntry() != "" && (c.Class == dhcp.HTTPClass || b.Entry == "") {
			b.Entry = m.FileEntry()
		}
		if m.UUID != "" {
			b.UUID = m.UUID
		}
	}
	if status != bootview.Conflict { // /httpboot picks none of them either
		file, _, _ := s.firmwareFile(m, status, near, asked)
		b.FileURL = file.String()
	}
	if base != "" {
		b.ScriptURL = base + script
	}
	if b.Standing == dhcp.Unknown && s.assigned(bootview.UnknownMachine{UUID: c.UUID, MAC: c.MAC}) {
		b.Standing = dhcp.Known
	}
	return b
}

// Answered records what DHCP has told a machine, or that it has told it nothing.
func (s *Server) Answered(e dhcp.Event) {
	switch {
	case e.Boot.Standing == dhcp.Unknown:
		if e.Client.Boots() && e.Answer.Kind == dhcp.Nothing {
			s.stranger(bootview.UnknownMachine{
				Address: textOf(e.Addr), UUID: e.Client.UUID, MAC: e.Client.MAC, Architecture: e.Client.Arch.String(), Path: pathDHCP + e.Client.Class.String(),
			})
		}
		return
	case e.Step == "" && (e.Answer.Reason == dhcp.ReasonServed || !e.Client.Boots()):
		return // it was for another server to answer
	}
	d := Delivery{
		Kind: bootview.DeliveredBoot, What: told(e), Entry: e.Boot.Entry, UUID: e.Boot.UUID, Attempt: e.Boot.Attempt, Addr: textOf(e.Addr), MAC: e.Client.MAC,
		Time: s.cfg.Clock.Now(), Status: http.StatusOK,
	}
	if e.Step == "" || e.Client.Boots() && e.Answer.Kind == dhcp.Nothing {
		d.Status = http.StatusNotFound
	}
	if e.Answer.Kind == dhcp.Wait {
		d.Status = http.StatusServiceUnavailable
	}
	s.cfg.Deliver(d)
}

// told says in a few words what was answered.
func told(e dhcp.Event) string {
	what := map[dhcp.Kind]string{dhcp.File: "boot file", dhcp.Script: "chainload script", dhcp.Program: e.Answer.Boot}[e.Answer.Kind]
	if what == "" {
		what = "address"
		if e.Client.Boots() || e.Step == "" {
			what = string(e.Answer.Reason)
		}
	}
	if e.Step == "" {
		return what
	}
	return e.Step + ": " + what
}

// Fetched records that a boot program was sent over TFTP. Of its reader no more is known than the address.
func (s *Server) Fetched(file string, from netip.Addr, bytes int64, ok bool) {
	d := Delivery{Kind: Program, What: file, Addr: from.String(), Time: s.cfg.Clock.Now(), Status: http.StatusOK, Bytes: bytes}
	if !ok {
		d.Status = http.StatusNotFound
	}
	m, status := s.view.ByIP(from)
	if status != bootview.Found && s.cfg.Neighbour != nil {
		m, status = s.view.Find("", s.cfg.Neighbour(from), "")
	}
	if status != bootview.Found {
		s.callers.wait(d)
		s.cfg.Deliver(d)
		return
	}
	d.UUID, d.Attempt = m.UUID, m.Attempt().ID
	if m.Session() != nil {
		s.account(&d, from, m)
	}
	s.cfg.Deliver(d)
}

func textOf(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// assigned reports whether an Assignment may be for a machine, by what is known of it.
func (s *Server) assigned(m bootview.UnknownMachine) bool {
	if s.cfg.Profiles == nil {
		return false
	}
	labels := map[string][]string{assignment.KeyUUID: {m.UUID}, assignment.KeyMAC: {m.MAC}, assignment.KeySerial: {m.Serial}}
	subject, err := assignment.NewSubject(labels)
	return err == nil && len(s.cfg.Profiles.Candidates(subject)) > 0
}
