package bootserver

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// Identity says what a caller has to show to be taken for the machine that a boot was ordered for.
type Identity string

const (
	// IdentityToken: the token, from whatever address. It was given to the first who asked for the script.
	IdentityToken Identity = "token"
	// IdentityAddress: to come from the address that asked first after power-on; where its MAC address is known, that must not be somebody
	// else's, and of a machine that was inspected it must be its own. The default.
	IdentityAddress Identity = "address"
	// IdentityMAC: the same, and the MAC address must be known and the machine's.
	IdentityMAC Identity = "mac"
	// IdentityBMC: to have fetched its image by the URL that its BMC alone was given.
	IdentityBMC Identity = "bmc"
)

// ParseIdentity is for the flag --boot-identity; empty means the default.
func ParseIdentity(s string) (Identity, error) {
	switch i := Identity(s); i {
	case "":
		return IdentityAddress, nil
	case IdentityToken, IdentityAddress, IdentityMAC, IdentityBMC:
		return i, nil
	}
	return "", fmt.Errorf("boot identity %q: want %s, %s, %s or %s", s, IdentityToken, IdentityAddress, IdentityMAC, IdentityBMC)
}

// verdict is what becomes of a request for something that is for one machine alone.
type verdict uint8

const (
	admitted verdict = iota
	// early: the BMC has not shown the machine on, so it cannot be the machine that asks, or the BMC is behind. It may come back.
	early
	// refused: somebody else boots in this session, or the caller cannot be the machine.
	refused
	// closed: no boot is under way, or its time is over.
	closed
)

// doubt is why a caller is not taken for the machine.
type doubt uint8

const (
	none doubt = iota
	addressTaken
	macTaken
	foreignMAC
	unknownMAC
	otherMAC
	otherAddress
	noScript
	noImage
	wrongToken
	notByBMC
)

func (d doubt) text(q request) string {
	switch d {
	case addressTaken:
		return "its address is that of another machine"
	case macTaken:
		return "its MAC address " + q.caller.MAC + " is that of another machine"
	case foreignMAC:
		return "its MAC address " + q.caller.MAC + " is not one of the machine's"
	case unknownMAC:
		return "its MAC address is unknown, because it is on no segment of the boot server (--boot-identity=mac)"
	case otherMAC:
		return "it has the machine's address, and the MAC address " + q.caller.MAC
	case otherAddress:
		return "the machine boots from " + q.machine.Session().Bound().Addr.String()
	case noScript:
		return "it has not fetched the machine's script"
	case noImage:
		return "it has not fetched the image of this boot"
	case wrongToken:
		return "it has no token of this boot"
	case notByBMC:
		return "it does not boot by the URL that the machine's BMC was given (--boot-identity=bmc)"
	}
	return ""
}

// proof is what a request carries.
type proof uint8

const (
	noToken proof = iota
	rightToken
	bmcToken // and by that the right token
)

// request is one that asks for what is for its machine alone.
type request struct {
	machine *bootview.Machine
	caller  bootview.Caller
	proof   proof
	// mayBind says that this request may be the first of the machine in its boot.
	mayBind bool
	// look leaves everything as it is: the answer has no body.
	look bool
}

// request tells who asks.
func (s *Server) request(r *http.Request, m *bootview.Machine, p proof, mayBind bool) request {
	c := bootview.Caller{Addr: caller(r)}
	if s.cfg.Neighbour != nil && c.Addr.IsValid() {
		c.MAC = s.cfg.Neighbour(c.Addr)
	}
	return request{machine: m, caller: c, proof: p, mayBind: mayBind, look: r.Method == http.MethodHead && p != bmcToken} // firmware asks its URL by HEAD first
}

// admit decides whether the caller is the machine, and binds the machine's session to the first who may be. Where no attempt of ours stands
// behind a machine, and nobody asked for its first reader to be bound, everybody is admitted.
func (s *Server) admit(q request) (verdict, doubt) {
	m, session := q.machine, q.machine.Session()
	if session == nil {
		if m.Attempt().IsOpen() {
			return admitted, none
		}
		return closed, none
	}
	terms := session.Terms()
	ordered := m.Attempt().ID != ""
	if ordered && terms.Seen.IsZero() && q.proof != bmcToken {
		return early, none
	}
	over := ordered && !terms.Seen.IsZero() && s.cfg.Clock.Now().After(terms.Seen.Add(s.cfg.SecretsDeadline))
	if bound := session.Bound(); !bound.IsZero() && (q.proof != bmcToken || session.Proven()) {
		return s.recognise(q, bound, over && !terms.Repeats)
	}
	if over {
		return closed, none
	}
	if why := s.suspect(q, terms); why != none {
		return refused, why
	}
	if !q.mayBind {
		return refused, noScript
	}
	if ordered && q.proof == noToken && s.outrun(q, terms) {
		return early, none
	}
	if q.look {
		return admitted, none
	}
	if bound := session.Bind(q.caller, q.proof == bmcToken); bound != q.caller {
		return s.recognise(q, bound, false) // another was faster
	}
	s.bound(m)
	return admitted, none
}

// beganAfter reports whether this server began to answer after the machine was seen on, so that it does not know what the machine has fetched. A
// machine that was not seen on yet may be seen on before this very request is decided: it is never one whose first requests were missed.
func (s *Server) beganAfter(m *bootview.Machine) bool {
	seen := m.Session().Terms().Seen
	if seen.IsZero() {
		return m.Attempt().ID == "" // no boot was ordered, so nobody looks for the machine to be on
	}
	return s.since.After(seen)
}

// bound tells whom the session of a machine is bound to.
func (s *Server) bound(m *bootview.Machine) {
	s.cfg.Bound(cmp.Or(m.ScriptEntry(), m.FileEntry(), m.IgnitionEntry()), m.Attempt().ID, m.Session().Bound(), m.Session().Proven())
}

// headStart is how long after power-on a machine is awaited at an address that it had before, when somebody asks from another: firmware that is
// given the same address as ever comes first then, however often a stranger asks.
const headStart = 3 * time.Minute

// outrun reports whether a caller may be a stranger who is faster than the machine: an address of that is known from an inspection, and this is
// not it, and nothing else speaks for the caller.
func (s *Server) outrun(q request, terms bootview.Terms) bool {
	if !terms.Inspected || !q.machine.Addressed || !s.cfg.Clock.Now().Before(terms.Seen.Add(headStart)) {
		return false
	}
	if own, _ := s.view.Interface(q.caller.MAC, q.machine); own {
		return false
	}
	return !s.isAt(q.machine, q.caller.Addr)
}

// recognise compares a caller with whom the session is bound to.
func (s *Server) recognise(q request, bound bootview.Caller, over bool) (verdict, doubt) {
	same := bound.Addr == q.caller.Addr
	otherInterface := bound.MAC != "" && q.caller.MAC != "" && bound.MAC != q.caller.MAC
	own := false // matters only where something is different
	if !same || otherInterface {
		own, _ = s.view.Interface(q.caller.MAC, q.machine)
	}
	switch {
	case same && otherInterface && !own:
		return refused, otherMAC
	case same:
	case own: // another interface of it, or another lease
		if !q.look {
			q.machine.Session().Move(q.caller)
			s.bound(q.machine)
		}
	case s.cfg.Identity == IdentityToken && q.proof != noToken:
	default:
		return refused, otherAddress
	}
	if over {
		return closed, none
	}
	return admitted, none
}

// suspect says why a caller cannot be the machine; none: nothing speaks against it.
func (s *Server) suspect(q request, terms bootview.Terms) doubt {
	if s.view.BelongsToOther(q.caller.Addr, q.machine) {
		return addressTaken
	}
	own, others := s.view.Interface(q.caller.MAC, q.machine)
	switch s.cfg.Identity {
	case IdentityBMC:
		if q.proof != bmcToken {
			return notByBMC
		}
	case IdentityMAC:
		if q.caller.MAC == "" {
			return unknownMAC
		}
		if !own {
			return foreignMAC
		}
	case IdentityAddress:
		if others {
			return macTaken
		}
		if q.caller.MAC != "" && !own && terms.Inspected {
			return foreignMAC
		}
	}
	return none
}

// verified reports whether the bound caller is the machine by more than having been first: by its MAC address, by what its BMC was given, or
// because it has the address that the machine had when it was inspected.
func (s *Server) verified(m *bootview.Machine) bool {
	bound := m.Session().Bound()
	own, _ := s.view.Interface(bound.MAC, m)
	return own || m.Session().Proven() || m.Session().Terms().Inspected && s.isAt(m, bound.Addr)
}

// isAt reports whether an address is known as one of a machine's.
func (s *Server) isAt(m *bootview.Machine, a netip.Addr) bool {
	known, status := s.view.ByIP(a)
	return status == bootview.Found && known.Same(m)
}

// opened waits a moment until the BMC has shown the machine on that asks: firmware may be faster than the poll that finds it out. It reports
// whether the request may be decided again. Few wait at a time for one machine, so that nobody fills the server by asking.
func (s *Server) opened(r *http.Request, m *bootview.Machine) bool {
	session := m.Session()
	s.cfg.Early(session.Terms().Server)
	leave, ok := session.Wait()
	if !ok {
		return false
	}
	defer leave()
	timer := time.NewTimer(s.timeouts.early)
	defer timer.Stop()
	select {
	case <-session.Opened():
		return true
	case <-timer.C:
	case <-r.Context().Done():
	}
	return false
}

// Alarm is an attempt to have, or to say, what is for one machine alone.
type Alarm = bootview.Alarm

// alarm raises one, once for each address and each thing of a boot.
func (s *Server) alarm(q request, what DeliveryKind, why doubt) {
	m := q.machine
	if q.look {
		return
	}
	if m.Session() == nil || !m.Session().Raise(what, q.caller.Addr) {
		return
	}
	s.cfg.Logger.Info("another client requested what is for one machine only", "systemUUID", m.UUID, "delivery", what, "address", q.caller.Addr.String(), "mac", q.caller.MAC, "message", why.text(q))
	s.cfg.Alarm(Alarm{
		Server: m.Session().Terms().Server, UUID: m.UUID, Attempt: m.Attempt().ID, What: what, Caller: q.caller, Bound: m.Session().Bound(), Why: why.text(q), Time: s.cfg.Clock.Now(),
	})
}
