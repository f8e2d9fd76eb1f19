package v6

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
)

// The ports of DHCPv6 (RFC 8415 §7.2).
const (
	ClientPort = 546
	ServerPort = 547
)

// Config is what a Handler is made of.
type Config struct {
	Boots  dhcp.Boots
	Policy dhcp.Policy
	// Pool leases addresses; nil: proxy mode.
	Pool *lease.Pool
	// MAC is that of the interface, of which our identifier is made. Server is our address there, and TFTP where boot programs are, if that is another.
	MAC          net.HardwareAddr
	Server, TFTP netip.Addr
	DNS          []netip.Addr
	Domain       string
}

// Handler answers packets.
type Handler struct {
	cfg  Config
	duid []byte
}

// NewHandler makes one.
func NewHandler(cfg Config) *Handler {
	if !cfg.TFTP.IsValid() {
		cfg.TFTP = cfg.Server
	}
	return &Handler{cfg, append([]byte{0, duidLL, 0, ethernet}, cfg.MAC...)}
}

// Request is a packet that was understood, and what is known of its sender.
type Request struct {
	message message
	client  client
	Boot    dhcp.Boot
	From    netip.AddrPort
}

// Client is who asks.
func (q Request) Client() dhcp.Client { return q.client.Client }

// Read decodes a packet, and looks up whose it is.
func (h *Handler) Read(packet []byte, from netip.AddrPort) (Request, error) {
	q, err := decode(packet, from)
	if err != nil {
		return q, err
	}
	return h.lookUp(q), nil
}

// decode is Read without the look-up, which costs the most.
func decode(packet []byte, from netip.AddrPort) (q Request, err error) {
	q.From = from
	if q.message, err = readMessage(packet); err == nil {
		q.client, err = clientOf(q.message, from.Addr())
	}
	return q, err
}

func (h *Handler) lookUp(q Request) Request {
	q.Boot = h.cfg.Boots.Boot(q.client.Client)
	if q.Boot.Standing == dhcp.Unknown && q.client.otherUUID != "" {
		other := q.client
		other.UUID = q.client.otherUUID
		if boot := h.cfg.Boots.Boot(other.Client); boot.Standing == dhcp.Known {
			q.client, q.Boot = other, boot
		}
	}
	return q
}

// Result is what becomes of a request.
type Result struct {
	// Reply is nil where nothing is sent.
	Reply []byte
	To    netip.AddrPort
	Event dhcp.Event
	// Err is a lease that could not be stored or found.
	Err error
}

// Handle decides and answers.
func (h *Handler) Handle(q Request) Result {
	r := Result{Event: dhcp.Event{Client: q.client.Client, Boot: q.Boot, Answer: dhcp.Decide(q.client.Client, q.Boot, h.cfg.Policy)}}
	associations, err := q.message.options.associations()
	if err != nil {
		r.Err = err
		return r
	}
	server, named := q.message.options.first(optServerID)
	ours := named && slices.Equal(server, h.duid)
	var body []byte
	var kind byte = reply
	switch q.message.kind {
	case solicit:
		kind, body = advertise, h.solicited(q, &r, associations, named)
	case request, renew:
		if ours {
			body = h.requested(q, &r, associations)
		}
	case rebind:
		if !named {
			body = h.requested(q, &r, associations)
		}
	case confirm:
		if !named {
			body = h.confirmed(q, associations)
		}
	case release, decline:
		if ours && h.cfg.Pool != nil {
			body = h.given(q, &r, associations)
		}
	case information:
		if (!named || ours) && len(associations) == 0 {
			body = h.informed(&r)
		}
	}
	if body == nil {
		return r
	}
	h.send(q, &r, kind, body)
	return r
}

// send puts a reply together.
func (h *Handler) send(q Request, r *Result, kind byte, body []byte) {
	b := append([]byte{kind}, q.message.xid[:]...)
	if duid, has := q.message.options.first(optClientID); has {
		b = appendOption(b, optClientID, duid...)
	}
	b = appendOption(b, optServerID, h.duid...)
	r.Reply = q.message.wrap(append(b, body...))
	port := uint16(ClientPort)
	if len(q.message.relays) > 0 {
		port = ServerPort
	}
	r.To = netip.AddrPortFrom(q.From.Addr(), port)
	if r.Event.Step = "reply"; kind == advertise {
		r.Event.Step = "advertise"
	}
}

func (h *Handler) waits(r *Result) bool { return r.Event.Answer.Kind == dhcp.Wait }

func (h *Handler) nothing(r *Result) bool { return r.Event.Answer.Kind == dhcp.Nothing }

// solicited offers an address, or in proxy mode only says what to boot (RFC 8415 §18.3.1).
func (h *Handler) solicited(q Request, r *Result, associations []association, named bool) []byte {
	if named || h.waits(r) || (h.cfg.Pool == nil || len(associations) == 0) && h.nothing(r) {
		return nil
	}
	body := []byte{}
	if h.cfg.Pool != nil {
		for n, a := range associations {
			l, err := h.offer(q, a, n)
			if err != nil {
				r.Err = err
				body = appendStatusIA(body, a.id, noAddrsAvail)
				continue
			}
			r.Event.Addr = l.Addr
			body = appendIA(body, a.id, l.Addr, h.cfg.Pool.Time())
		}
		body = h.network(body)
	}
	return h.boot(body, r)
}

// errOneAddress: a client has one address; with more of them one could empty the pool.
var errOneAddress = errors.New("a client gets one address")

func (h *Handler) offer(q Request, a association, n int) (lease.Lease, error) {
	if n > 0 {
		return lease.Lease{}, errOneAddress
	}
	subnet, ok := h.subnet(q.message)
	if !ok {
		return lease.Lease{}, lease.ErrNoRange
	}
	want := netip.Addr{}
	if len(a.addrs) > 0 {
		want = a.addrs[0]
	}
	l, _, err := h.cfg.Pool.Offer(q.client.key, q.Boot.Standing == dhcp.Known, subnet, want)
	return l, err
}

// requested gives an address that was offered, or prolongs its lease (RFC 8415 §18.3.2, §18.3.4, §18.3.5).
func (h *Handler) requested(q Request, r *Result, associations []association) []byte {
	if q.message.kind == request && h.waits(r) {
		return nil
	}
	body := []byte{}
	if h.cfg.Pool != nil {
		for n, a := range associations {
			if q.message.kind != request && h.elsewhere(q.message, a) {
				body = appendGone(body, a)
				continue
			}
			l, status, err := h.bind(q, a, n)
			if err != nil {
				r.Err = err
			}
			if err != nil && !errors.Is(err, lease.ErrUnsaved) {
				if q.message.kind == rebind {
					return nil // of which there is no record: another server may have one
				}
				body = appendStatusIA(body, a.id, status)
				continue
			}
			r.Event.Addr = l.Addr
			body = appendIA(body, a.id, l.Addr, h.cfg.Pool.Time())
		}
		body = h.network(body)
	} else {
		for _, a := range associations {
			body = appendStatusIA(body, a.id, noAddrsAvail)
		}
	}
	return h.boot(body, r)
}

func (h *Handler) bind(q Request, a association, n int) (l lease.Lease, status uint16, err error) {
	known := q.Boot.Standing == dhcp.Known
	subnet, ok := h.subnet(q.message)
	switch {
	case n > 0:
		return l, noAddrsAvail, errOneAddress
	case !ok:
		return l, notOnLink, lease.ErrNoRange
	case len(a.addrs) > 0 && !subnet.Contains(a.addrs[0]):
		return l, notOnLink, lease.ErrNoRange
	case len(a.addrs) > 0:
		if l, err = h.cfg.Pool.Bind(q.client.key, known, a.addrs[0], true); err == nil || errors.Is(err, lease.ErrUnsaved) {
			return l, success, err
		}
		if q.message.kind != request {
			return l, noBinding, err
		}
	}
	// What was offered is somebody else's by now, or nothing was.
	if l, err = h.offer(q, association{}, 0); err == nil {
		l, err = h.cfg.Pool.Bind(q.client.key, known, l.Addr, false)
	}
	return l, noAddrsAvail, err
}

// elsewhere reports whether all addresses of a client are of other links than the one that it is on now.
func (h *Handler) elsewhere(m message, a association) bool {
	subnet, ok := h.subnet(m)
	return ok && len(a.addrs) > 0 && !slices.ContainsFunc(a.addrs, subnet.Contains)
}

// confirmed says whether a client that comes back is where it was (RFC 8415 §18.3.3).
func (h *Handler) confirmed(q Request, associations []association) []byte {
	if h.cfg.Pool == nil {
		return nil
	}
	subnet, ok := h.subnet(q.message)
	asked := false
	for _, a := range associations {
		for _, addr := range a.addrs {
			asked = true
			if ok && !subnet.Contains(addr) {
				return appendStatus(nil, notOnLink)
			}
		}
	}
	if !asked || !ok { // of a link without a range nothing is known
		return nil
	}
	return appendStatus(nil, success)
}

// given takes back what a client has released or cannot use (RFC 8415 §18.3.7, §18.3.8).
func (h *Handler) given(q Request, r *Result, associations []association) []byte {
	body := appendStatus(nil, success)
	giveBack := h.cfg.Pool.Decline
	if q.message.kind == release {
		giveBack = h.cfg.Pool.Release
	}
	for _, a := range associations {
		var errs []error
		for _, addr := range a.addrs {
			errs = append(errs, giveBack(q.client.key, addr))
		}
		if err := errors.Join(errs...); err != nil {
			r.Err = err
			body = appendStatusIA(body, a.id, noBinding)
		}
	}
	return body
}

// informed answers a client that has its address from elsewhere (RFC 8415 §18.3.6).
func (h *Handler) informed(r *Result) []byte {
	if h.waits(r) || h.cfg.Pool == nil && h.nothing(r) {
		return nil
	}
	body := []byte{}
	if h.cfg.Pool != nil {
		body = h.network(body)
	}
	return h.boot(body, r)
}

// subnet is where the client is: as the relay nearest to it says that has an address there, or on our own segment.
func (h *Handler) subnet(m message) (netip.Prefix, bool) {
	for _, r := range slices.Backward(m.relays) {
		if !r.link.IsUnspecified() {
			return h.cfg.Pool.Subnet(r.link)
		}
	}
	return h.cfg.Pool.Subnet(h.cfg.Server)
}

// network adds what a host needs to know (RFC 3646).
func (h *Handler) network(b []byte) []byte {
	var servers []byte
	for _, a := range h.cfg.DNS {
		if a.Is6() {
			servers = append(servers, a.AsSlice()...)
		}
	}
	if len(servers) > 0 {
		b = appendOption(b, optDNS, servers...)
	}
	if h.cfg.Domain != "" {
		b = appendOption(b, optDomain, labels(h.cfg.Domain)...)
	}
	return b
}

// labels is a domain as DNS writes it (RFC 1035 §3.1).
func labels(domain string) (b []byte) {
	for label := range strings.SplitSeq(strings.TrimSuffix(domain, "."), ".") {
		label = label[:min(len(label), 63)]
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0)
}

// enterprise is that of the vendor class of UEFI's HTTP boot: Intel's, as EDK II sends and expects it.
var enterprise = []byte{0, 0, 1, 0x57}

// boot adds what to boot (RFC 5970 §3.1; UEFI 2.10 §24.7.3.1).
func (h *Handler) boot(b []byte, r *Result) []byte {
	a := r.Event.Answer
	switch a.Kind {
	case dhcp.File:
		class := binary.BigEndian.AppendUint16(slices.Clone(enterprise), uint16(len(dhcp.HTTPClient)))
		b = appendOption(b, optVendorClass, append(class, dhcp.HTTPClient...)...)
		b = appendOption(b, optBootURL, []byte(a.Boot)...)
	case dhcp.Script:
		b = appendOption(b, optBootURL, []byte(a.Boot)...)
	case dhcp.Program:
		b = appendOption(b, optBootURL, []byte("tftp://["+h.cfg.TFTP.String()+"]/"+a.Boot)...)
	}
	return b
}

// appendIA adds an address, and when to ask for more of it.
func appendIA(b []byte, id [4]byte, a netip.Addr, valid time.Duration) []byte {
	n := uint32(min(valid/time.Second, 1<<32-2))
	inside := binary.BigEndian.AppendUint32(a.AsSlice(), n)
	inside = binary.BigEndian.AppendUint32(inside, n)
	ia := binary.BigEndian.AppendUint32(id[:], n/2)
	ia = binary.BigEndian.AppendUint32(ia, n/5*4)
	return appendOption(b, optIANA, appendOption(ia, optIAAddress, inside...)...)
}

// appendGone has a client give up addresses that are of no use where it is: they are valid no longer (RFC 8415 §18.3.4, §18.3.5).
func appendGone(b []byte, a association) []byte {
	ia := append(slices.Clone(a.id[:]), make([]byte, 8)...)
	for _, addr := range a.addrs {
		ia = appendOption(ia, optIAAddress, append(addr.AsSlice(), make([]byte, 8)...)...)
	}
	return appendOption(b, optIANA, ia...)
}

func appendStatusIA(b []byte, id [4]byte, status uint16) []byte {
	return appendOption(b, optIANA, appendStatus(append(slices.Clone(id[:]), make([]byte, 8)...), status)...)
}

func appendStatus(b []byte, status uint16) []byte {
	return appendOption(b, optStatus, byte(status>>8), byte(status))
}
