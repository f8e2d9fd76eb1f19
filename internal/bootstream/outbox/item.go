package outbox

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
)

// class is what has a limit of its own. What is told first comes first.
type class uint8

const (
	bindings class = iota
	alarms
	early
	deliveries
	// minor are deliveries that no condition follows from: to strangers, to nobody in particular, and refusals.
	minor
	sightings
	leases
	classes
)

var (
	classNames = [classes]string{"binding", "alarm", "early", "delivery", "minor_delivery", "sighting", "lease"}
	// limits are together some 30 MB at most.
	limits = [classes]int{1 << 14, 1 << 12, 1 << 12, 3 << 13, 1 << 13, 1 << 12, 1 << 13}
)

// key is what makes two messages one.
type key struct {
	class                                     class
	kind, entry, what, uuid, attempt, address string
	status                                    int32
	stranger                                  bool
}

// item is a message that waits.
type item struct {
	id  uint64
	key key
	// message is nil for what is early: the key says it all.
	message proto.Message
	// changed is the round in which it is noted to be written; zero: in none.
	changed uint64
	// saved says that it was written, gone that it has left the outbox.
	saved, gone bool
}

// queue holds the items of a class, the oldest first.
type queue struct {
	items []*item
	head  int
}

func (q *queue) len() int { return len(q.items) - q.head }

func (q *queue) waiting() []*item { return q.items[q.head:] }

func (q *queue) push(it *item) { q.items = append(q.items, it) }

func (q *queue) pop() *item {
	it := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	if q.head > 64 && q.head > len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	return it
}

// mostText is longer than any name or address.
const mostText = 256

// clip makes a text fit to be sent: protobuf wants UTF-8.
func clip(s string) string {
	if len(s) <= mostText && utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s[:min(len(s), mostText)], "")
}

func deliveryKey(d *streampb.Delivery) key {
	k := key{
		class: deliveries, kind: d.GetKind(), entry: d.GetEntry(), what: d.GetWhat(), uuid: d.GetUuid(), attempt: d.GetAttempt(), address: d.GetAddress(),
		status: d.GetStatus(), stranger: d.GetStranger(),
	}
	return k.classified()
}

// classified tells a delivery that may become a condition from the rest.
func (k key) classified() key {
	if k.stranger || k.status >= 300 || k.uuid == "" && k.entry == "" {
		k.class = minor
	}
	return k
}

func alarmKey(a *streampb.Alarm) key {
	return key{class: alarms, kind: a.GetWhat(), entry: a.GetServer(), uuid: a.GetUuid(), attempt: a.GetAttempt(), address: a.GetCaller().GetAddress()}
}

// sightingKey is the host that asked: by its address, or, where it has none yet, by the MAC address that it asked DHCP from.
func sightingKey(s *streampb.Sighting) key {
	if s.GetAddress() == "" {
		return key{class: sightings, uuid: s.GetMac()}
	}
	return key{class: sightings, address: s.GetAddress()}
}

func leaseKey(l *streampb.Lease) key { return key{class: leases, entry: l.GetMac()} }

func bindingKey(b *streampb.Binding) key { return key{class: bindings, entry: b.GetEntry()} }

func earlyKey(server string) key { return key{class: early, entry: server} }

func callerOf(c bootview.Caller) *streampb.Caller {
	if c.IsZero() {
		return nil
	}
	return &streampb.Caller{Address: c.Addr.String(), Mac: clip(c.MAC)}
}

// put adds an item to a request.
func (it *item) put(r *streampb.TellRequest) {
	switch m := it.message.(type) {
	case *streampb.Delivery:
		r.Deliveries = append(r.Deliveries, m)
	case *streampb.Alarm:
		r.Alarms = append(r.Alarms, m)
	case *streampb.Sighting:
		r.Sightings = append(r.Sightings, m)
	case *streampb.Lease:
		r.Leases = append(r.Leases, m)
	case *streampb.Binding:
		r.Bindings = append(r.Bindings, m)
	default:
		r.Early = append(r.Early, it.key.entry)
	}
}

// itemsOf is the reverse of put.
func itemsOf(r *streampb.TellRequest) (items []*item) {
	for _, m := range r.GetDeliveries() {
		items = append(items, &item{key: deliveryKey(m), message: m})
	}
	for _, m := range r.GetAlarms() {
		items = append(items, &item{key: alarmKey(m), message: m})
	}
	for _, m := range r.GetSightings() {
		items = append(items, &item{key: sightingKey(m), message: m})
	}
	for _, m := range r.GetLeases() {
		items = append(items, &item{key: leaseKey(m), message: m})
	}
	for _, m := range r.GetBindings() {
		items = append(items, &item{key: bindingKey(m), message: m})
	}
	for _, server := range r.GetEarly() {
		items = append(items, &item{key: earlyKey(server)})
	}
	return items
}
