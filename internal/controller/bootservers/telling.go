package bootservers

import (
	"context"
	"math"
	"net/netip"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/printable"
)

// telling is one request of a boot server.
type telling struct {
	*Receiver
	ctx  context.Context
	from bootstream.Peer
	now  time.Time
	// err is why it cannot be taken now. What was taken of it before is taken again then, which changes nothing but counts.
	err error
}

// binding notes who boots by an entry.
func (t *telling) binding(b *streampb.Binding) {
	site, known := t.View.SiteOf(b.Entry)
	if !known {
		return
	}
	if site != t.from.Site {
		t.refuse(t.from, "binding")
		return
	}
	t.Delivery.Bind(b.Entry, b.Attempt, callerOf(b.Caller), b.Proven)
}

// alarm raises an alarm of a Server.
func (t *telling) alarm(a *streampb.Alarm) {
	if a.Server != "" && !t.speaksFor(a.Server, "alarm") {
		return
	}
	t.Delivery.Alarmed(bootview.Alarm{
		Server: a.Server, UUID: uuidOf(a.Uuid), Attempt: clip(a.Attempt), What: bootview.DeliveryKind(clip(a.What)),
		Caller: callerOf(a.Caller), Bound: callerOf(a.Bound), Why: clip(a.Why), Time: t.timeOf(a.Time),
	})
}

// early has the BMC of a machine asked soon that asks for its boot already.
func (t *telling) early(server string) {
	if t.speaksFor(server, "early") {
		t.Early(server)
	}
}

// delivery tells of an answer to a machine.
func (t *telling) delivery(m *streampb.Delivery) {
	d := bootview.Delivery{
		Kind: bootview.DeliveryKind(clip(m.Kind)), Entry: m.Entry, What: clip(m.What), UUID: uuidOf(m.Uuid), Attempt: clip(m.Attempt), Addr: addressOf(m.Address),
		MAC: identity.MachineMAC(m.Mac), Stranger: m.Stranger, Status: int(m.Status), Bytes: max(m.Bytes, 0),
	}
	if !t.own(&d) {
		t.refuse(t.from, "delivery")
		return
	}
	first, last := t.timeOf(m.First), t.timeOf(m.Last)
	if first.After(last) {
		first = last
	}
	count := max(1, int(min(m.Count, 1<<30)))
	d.Time = last
	t.History.RecordAll(d, first, count)
	d.Time = first
	t.Delivery.Delivered(d)
	if count > 1 { // conditions tell what was given once from what was given again
		d.Time = last
		t.Delivery.Delivered(d)
	}
}

// own reports whether a delivery is about a machine of the boot server's site, or about none that is known. An entry that has gone meanwhile
// has no conditions any more.
func (t *telling) own(d *bootview.Delivery) bool {
	if site, known := t.View.SiteOf(d.Entry); !known {
		d.Entry = ""
	} else if site != t.from.Site {
		return false
	}
	if d.UUID == "" {
		return true
	}
	if m, status := t.View.ByUUID(d.UUID); status == bootview.Found {
		return m.Site == t.from.Site
	}
	var servers metalv1.ServerList
	if err := t.Servers.List(t.ctx, &servers, client.MatchingFields{index.ServerByIdentity: index.MachineUUID(d.UUID)}); err != nil {
		t.err = err
		return false
	}
	return len(servers.Items) == 0 || slices.ContainsFunc(servers.Items, func(s metalv1.Server) bool { return t.SiteOf(&s) == t.from.Site })
}

// sighting notes a machine that there was nothing for.
func (t *telling) sighting(s *streampb.Sighting) {
	t.Unknown.Note(bootview.UnknownMachine{
		Address: addressOf(s.Address), UUID: clip(s.Uuid), MAC: clip(s.Mac), Serial: clip(s.Serial), Path: clip(s.Path),
		Architecture: clip(s.Architecture), First: t.firstOf(s), Times: int(s.Count),
	}, t.timeOf(s.Time))
}

// firstOf is when a machine asked first, if the boot server remembers.
func (t *telling) firstOf(s *streampb.Sighting) (at time.Time) {
	if s.First != nil {
		at = t.timeOf(s.First)
	}
	return at
}

// maxHeld is how many addresses of one client are taken note of: it has one in each subnet.
const maxHeld = 16

// lease passes on that a client has an address. Who the boot server is decides what follows from it.
func (t *telling) lease(l *streampb.Lease) {
	mac, at := identity.MachineMAC(l.Mac), ipOf(l.Address)
	if mac == "" || !at.IsValid() {
		return
	}
	held := []netip.Addr{at}
	for _, text := range l.Held[:min(len(l.Held), maxHeld)] {
		if a := ipOf(text); a.IsValid() && !slices.Contains(held, a) {
			held = append(held, a)
		}
	}
	t.Leased(dhcp.Sighting{
		Client: dhcp.Client{MAC: mac, Host: dhcp.Text([]byte(l.Host)), Vendor: dhcp.Text([]byte(l.Vendor)), IPv6: at.Is6()}, Addr: at, Held: held, Machine: l.Machine,
		Apart: true, Site: t.from.Site, Addresses: int(min(l.Addresses, math.MaxInt32)),
	})
}

// ipOf is an address that a host can have; invalid: it is none.
func ipOf(text string) netip.Addr {
	a, err := netip.ParseAddr(text)
	if a = a.Unmap().WithZone(""); err != nil || !a.IsGlobalUnicast() {
		return netip.Addr{}
	}
	return a
}

// speaksFor reports whether a Server is one of the boot server's site. One that is not there any more is nobody's.
func (t *telling) speaksFor(server, what string) bool {
	var s metalv1.Server
	err := t.Servers.Get(t.ctx, client.ObjectKey{Name: server}, &s)
	switch {
	case apierrors.IsNotFound(err):
		return false
	case err != nil:
		t.err = err
		return false
	case t.SiteOf(&s) != t.from.Site:
		t.refuse(t.from, what)
		return false
	}
	return true
}

// timeOf is never in the future, so that no condition is.
func (t *telling) timeOf(stamp *timestamppb.Timestamp) time.Time {
	if at := stamp.AsTime(); stamp.IsValid() && at.Before(t.now) {
		return at
	}
	return t.now
}

// mostText is longer than any name or address.
const mostText = 256

// clip makes a text fit to be kept and shown.
func clip(text string) string { return printable.Short(text, mostText) }

func uuidOf(text string) string {
	if canonical, err := identity.UUID(text); err == nil {
		return canonical
	}
	return ""
}

func addressOf(text string) string {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return ""
	}
	return a.String()
}

func callerOf(c *streampb.Caller) bootview.Caller {
	a, err := netip.ParseAddr(c.GetAddress())
	if err != nil {
		return bootview.Caller{}
	}
	return bootview.Caller{Addr: a.Unmap().WithZone(""), MAC: identity.MachineMAC(c.GetMac())}
}
