package v4

import (
	"errors"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
)

// The ports of DHCP (RFC 2131 §4.1) and of proxyDHCP (PXE 2.1 §2.2.4).
const (
	ServerPort = 67
	ClientPort = 68
	ProxyPort  = 4011
)

// Config is what a Handler is made of.
type Config struct {
	Boots  dhcp.Boots
	Policy dhcp.Policy
	// Pool leases addresses; nil: proxy mode.
	Pool *lease.Pool
	// Server is our address on the interface; TFTP where boot programs are, if that is another.
	Server, TFTP netip.Addr
	// Routers and DNS are told with leases: of the routers those of the client's subnet.
	Routers, DNS []netip.Addr
	Domain       string
	// OtherServer is told of another DHCP server, which a client has chosen; nil: nobody is.
	OtherServer func(netip.Addr)
}

// Handler answers packets.
type Handler struct{ cfg Config }

// NewHandler makes one.
func NewHandler(cfg Config) *Handler {
	if !cfg.TFTP.IsValid() {
		cfg.TFTP = cfg.Server
	}
	if cfg.OtherServer == nil {
		cfg.OtherServer = func(netip.Addr) {}
	}
	return &Handler{cfg}
}

// Request is a packet that was understood, and what is known of its sender.
type Request struct {
	Packet *dhcpv4.DHCPv4
	Client dhcp.Client
	Boot   dhcp.Boot
	// From is who sent it, Port where it came to.
	From netip.AddrPort
	Port uint16
}

// Read decodes a packet, and looks up whose it is.
func (h *Handler) Read(packet []byte, from netip.AddrPort, port uint16) (Request, error) {
	q, err := decode(packet, from, port)
	if err == nil {
		q.Boot = h.cfg.Boots.Boot(q.Client)
	}
	return q, err
}

// decode is Read without the look-up, which costs the most.
func decode(packet []byte, from netip.AddrPort, port uint16) (Request, error) {
	p, err := dhcpv4.FromBytes(packet)
	if err != nil {
		return Request{}, errors.Join(errMalformed, err)
	}
	c, err := clientOf(p)
	return Request{Packet: p, Client: c, From: from, Port: port}, err
}

// Result is what becomes of a request.
type Result struct {
	// Reply is nil where nothing is sent.
	Reply *dhcpv4.DHCPv4
	To    Destination
	// Probe is an address that somebody else may have; it is asked for before Reply is sent, and given to Conflicted if it answers.
	Probe netip.Addr
	Event dhcp.Event
	// Err is a lease that could not be stored or found.
	Err error
}

// Handle decides and answers.
func (h *Handler) Handle(q Request) Result {
	answer := dhcp.Decide(q.Client, q.Boot, h.cfg.Policy)
	r := Result{Event: dhcp.Event{Client: q.Client, Boot: q.Boot, Answer: answer}}
	kind := q.Packet.MessageType()
	switch {
	case q.Port == ProxyPort:
		if kind == dhcpv4.MessageTypeRequest || kind == dhcpv4.MessageTypeDiscover || kind == dhcpv4.MessageTypeInform {
			h.proxy(q, &r, dhcpv4.MessageTypeAck)
		}
	case h.cfg.Pool == nil:
		h.overhear(q)
		if kind == dhcpv4.MessageTypeDiscover {
			h.proxy(q, &r, dhcpv4.MessageTypeOffer)
		}
	default:
		h.lease(q, kind, &r)
	}
	if r.Reply != nil {
		r.To = h.destination(q, r.Reply)
		r.Event.Step = steps[r.Reply.MessageType()]
	}
	return r
}

// steps are what answers are called in the record.
var steps = map[dhcpv4.MessageType]string{dhcpv4.MessageTypeOffer: "offer", dhcpv4.MessageTypeAck: "ack", dhcpv4.MessageTypeNak: "nak"}

// Conflicted says that somebody has the address that a result would have offered.
func (h *Handler) Conflicted(q Request, a netip.Addr) error {
	return h.cfg.Pool.Conflict(q.Client.MAC, a)
}

// proxy says what to boot and leaves the address to another server.
func (h *Handler) proxy(q Request, r *Result, kind dhcpv4.MessageType) {
	if r.Event.Answer.Kind == dhcp.Nothing || r.Event.Answer.Kind == dhcp.Wait {
		return
	}
	r.Reply = h.reply(q.Packet, kind)
	r.Reply.ClientIPAddr = q.Packet.ClientIPAddr
	r.Event.Addr = addr(q.Packet.ClientIPAddr)
	h.boot(r.Reply, q, r.Event.Answer)
}

// overhear notes which server a client has chosen: its request goes to all (RFC 2131 §4.3.2).
func (h *Handler) overhear(q Request) {
	if a, ok := serverID(q.Packet); ok && a != h.cfg.Server && q.Packet.MessageType() == dhcpv4.MessageTypeRequest {
		h.cfg.OtherServer(a)
	}
}

func (h *Handler) lease(q Request, kind dhcpv4.MessageType, r *Result) {
	if r.Event.Answer.Kind == dhcp.Wait && (kind == dhcpv4.MessageTypeDiscover || kind == dhcpv4.MessageTypeRequest) {
		return
	}
	switch kind {
	case dhcpv4.MessageTypeDiscover:
		h.discover(q, r)
	case dhcpv4.MessageTypeRequest:
		h.request(q, r)
	case dhcpv4.MessageTypeInform:
		if subnet, ok := h.subnet(q.Packet); ok {
			r.Reply = h.reply(q.Packet, dhcpv4.MessageTypeAck)
			r.Reply.ClientIPAddr = q.Packet.ClientIPAddr
			h.network(r.Reply, subnet)
			h.boot(r.Reply, q, r.Event.Answer)
		}
	case dhcpv4.MessageTypeDecline:
		if a, ok := serverID(q.Packet); ok && a == h.cfg.Server {
			r.Err = h.cfg.Pool.Decline(q.Client.MAC, requestedIP(q.Packet))
		}
	case dhcpv4.MessageTypeRelease:
		if a, ok := serverID(q.Packet); ok && a == h.cfg.Server {
			r.Err = h.cfg.Pool.Release(q.Client.MAC, addr(q.Packet.ClientIPAddr))
		}
	}
}

func (h *Handler) discover(q Request, r *Result) {
	subnet, ok := h.subnet(q.Packet)
	if !ok {
		r.Err = lease.ErrNoRange
		return
	}
	l, fresh, err := h.cfg.Pool.Offer(q.Client.MAC, q.Boot.Standing == dhcp.Known, subnet, requestedIP(q.Packet))
	if err != nil {
		r.Err = err
		return
	}
	if fresh {
		r.Probe = l.Addr
	}
	h.leased(q, r, dhcpv4.MessageTypeOffer, l, subnet)
}

// request answers a client that takes what it was offered, that starts again with the address it had, or that wants to keep it (RFC 2131 §4.3.2).
func (h *Handler) request(q Request, r *Result) {
	server, selecting := serverID(q.Packet)
	if selecting && server != h.cfg.Server {
		h.cfg.OtherServer(server)
		return
	}
	want, current := requestedIP(q.Packet), addr(q.Packet.ClientIPAddr)
	renewing := !want.IsValid() && current.IsValid()
	if renewing {
		want = current
	}
	subnet, ok := h.subnet(q.Packet)
	switch {
	case !ok:
		return
	case !want.IsValid() || !subnet.Contains(want):
		h.refuse(q, r, "that address is of another network")
		return
	}
	// Who has been offered an address, or uses one, may have it from a server that has lost its file, if it is free.
	l, err := h.cfg.Pool.Bind(q.Client.MAC, q.Boot.Standing == dhcp.Known, want, selecting || renewing)
	switch {
	case errors.Is(err, lease.ErrTaken):
		h.refuse(q, r, "that address is another's")
	case errors.Is(err, lease.ErrNotOffered) && selecting:
		h.refuse(q, r, "that address was not offered")
	case err != nil && !errors.Is(err, lease.ErrUnsaved):
		r.Err = err // a server that has no record of the client remains silent
	default:
		r.Err = err
		h.leased(q, r, dhcpv4.MessageTypeAck, l, subnet)
	}
}

func (h *Handler) leased(q Request, r *Result, kind dhcpv4.MessageType, l lease.Lease, subnet netip.Prefix) {
	r.Event.Addr = l.Addr
	r.Reply = h.reply(q.Packet, kind)
	r.Reply.YourIPAddr = l.Addr.AsSlice()
	if kind == dhcpv4.MessageTypeAck {
		r.Reply.ClientIPAddr = q.Packet.ClientIPAddr
	}
	h.network(r.Reply, subnet)
	h.times(r.Reply)
	h.boot(r.Reply, q, r.Event.Answer)
}

func (h *Handler) refuse(q Request, r *Result, why string) {
	r.Reply = h.reply(q.Packet, dhcpv4.MessageTypeNak)
	r.Reply.Options[optMessage] = []byte(why)
	if relay := addr(q.Packet.GatewayIPAddr); relay.IsValid() {
		r.Reply.SetBroadcast() // the client may not have the address that it asked for (RFC 2131 §4.3.2)
	}
}

// subnet is where the client is: where the relay says, behind the relay, or on our own segment.
func (h *Handler) subnet(p *dhcpv4.DHCPv4) (netip.Prefix, bool) {
	at := addr(p.GatewayIPAddr)
	if at.IsValid() {
		if link := linkSelection(p.Options[optAgent]); link.IsValid() {
			at = link
		}
	} else if at = addr(p.ClientIPAddr); !at.IsValid() {
		at = h.cfg.Server
	}
	return h.cfg.Pool.Subnet(at)
}

// linkSelection is the subnet that a relay names apart from its own address (RFC 3527).
func linkSelection(agent []byte) netip.Addr {
	for len(agent) >= 2 {
		code, n := agent[0], int(agent[1])
		if agent = agent[2:]; n > len(agent) {
			break
		}
		if code == subLinkSelection && n == 4 {
			return netip.AddrFrom4([4]byte(agent[:4]))
		}
		agent = agent[n:]
	}
	return netip.Addr{}
}

func serverID(p *dhcpv4.DHCPv4) (netip.Addr, bool) {
	a := addr(p.Options[optServerID])
	return a, a.IsValid()
}

func requestedIP(p *dhcpv4.DHCPv4) netip.Addr { return addr(p.Options[optRequestedIP]) }

// addr is invalid for 0.0.0.0 and for what is no IPv4 address.
func addr(ip []byte) netip.Addr {
	a, ok := netip.AddrFromSlice(ip)
	if a = a.Unmap(); !ok || !a.Is4() || a.IsUnspecified() {
		return netip.Addr{}
	}
	return a
}
