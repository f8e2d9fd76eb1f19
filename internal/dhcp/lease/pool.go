package lease

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Errors of a Pool.
var (
	// ErrNoRange: there is no range in the subnet.
	ErrNoRange = errors.New("no range in the subnet of the client")
	// ErrExhausted: every address is taken, or every one that a stranger can have.
	ErrExhausted = errors.New("no free address")
	// ErrTaken: the address is another client's, or reserved, or was found to be in use.
	ErrTaken = errors.New("the address is taken")
	// ErrNotOffered: nothing is known of a lease of the client on that address.
	ErrNotOffered = errors.New("no lease of this address")
)

const (
	// OfferTime is how long an offered address waits to be taken. Firmware answers within seconds.
	OfferTime = 30 * time.Second
	// ConflictTime is how long an address that somebody else was found to have is left alone.
	ConflictTime = 10 * time.Minute
	// MinTime and DefaultTime are those of leases.
	MinTime     = 2 * time.Minute
	DefaultTime = time.Hour
)

// Lease is an address of a client, or one that is kept from all.
type Lease struct {
	Addr   netip.Addr
	Client string // canonical MAC, or what else a client is known by; empty: a conflict
	// Known says that the client was a machine of ours when it asked last.
	Known bool
	// Bound says that the client has taken it; until then it is offered.
	Bound bool
	// Booted says that the client has booted from the network with this address.
	Booted  bool
	Expires time.Time
}

// Config is what a Pool is made of.
type Config struct {
	Ranges []Range
	// Reserved are the addresses of clients that always get the same, within a range or not, but in one of the subnets.
	Reserved map[string][]netip.Addr
	// Time is how long a lease is good for; zero: DefaultTime.
	Time time.Duration
	// File keeps leases over restarts; empty: nothing does.
	File  string
	Clock clock.PassiveClock // nil: the real one
}

// Pool leases addresses. It is safe for concurrent use.
type Pool struct {
	cfg   Config
	clock clock.PassiveClock

	mu     sync.Mutex
	byAddr map[netip.Addr]*Lease
	// byClient has the leases of a client, one for each subnet.
	byClient map[string][]*Lease
	reserved map[netip.Addr]string
	ranges   []*rangeState
	journal  *journal
}

// rangeState is how far a range is given out.
type rangeState struct {
	Range
	total int
	next  netip.Addr // no address below it is unused
	// strangers and offered count the leases of strangers, and those of them that were not taken.
	strangers, offered int
	// held counts the addresses that somebody has or had.
	held int
	// fullUntil saves looking for a lease to end before one can.
	fullUntil time.Time
}

// New reads the file, and drops what is in it and in no range any more.
func New(cfg Config) (*Pool, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Time == 0 {
		cfg.Time = DefaultTime
	}
	if cfg.Time < MinTime {
		return nil, fmt.Errorf("a lease time of %s: want %s at least", cfg.Time, MinTime)
	}
	if err := CheckRanges(cfg.Ranges, nil); err != nil {
		return nil, err
	}
	p := &Pool{cfg: cfg, clock: cfg.Clock, byAddr: map[netip.Addr]*Lease{}, byClient: map[string][]*Lease{}, reserved: map[netip.Addr]string{}}
	for _, r := range cfg.Ranges {
		if n := r.size(); n == MaxAddresses && r.First.Is4() {
			return nil, fmt.Errorf("range %s has more than %d addresses", r, MaxAddresses-1)
		}
		p.ranges = append(p.ranges, &rangeState{Range: r, total: r.size(), next: r.First})
	}
	for client, addrs := range cfg.Reserved {
		for _, a := range addrs {
			if other, twice := p.reserved[a]; twice {
				return nil, fmt.Errorf("%s is reserved for %s and for %s", a, other, client)
			}
			if !slices.ContainsFunc(cfg.Ranges, func(r Range) bool { return r.Subnet.Contains(a) }) {
				return nil, fmt.Errorf("%s, reserved for %s, is in the subnet of no range", a, client)
			}
			p.reserved[a] = client
		}
	}
	if cfg.File == "" {
		return p, nil
	}
	return p, p.open()
}

func (p *Pool) rangesIn(subnet netip.Prefix) (in []*rangeState) {
	for _, r := range p.ranges {
		if r.Subnet == subnet {
			in = append(in, r)
		}
	}
	return in
}

// Subnet is the subnet of a range that contains an address: of our interface, of a relay, or of the client.
func (p *Pool) Subnet(a netip.Addr) (netip.Prefix, bool) {
	for _, r := range p.ranges {
		if r.Subnet.Contains(a) {
			return r.Subnet, true
		}
	}
	return netip.Prefix{}, false
}

// Offer finds an address for a client in a subnet and keeps it for OfferTime. fresh says that the client does not have the address already, so that somebody
// else could, whom nobody told us of.
func (p *Pool) Offer(client string, known bool, subnet netip.Prefix, want netip.Addr) (l Lease, fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	ranges := p.rangesIn(subnet)
	if len(ranges) == 0 {
		return Lease{}, false, ErrNoRange
	}
	if had := p.of(client, subnet); had != nil {
		if r := p.reservation(client, subnet); !r.IsValid() || r == had.Addr {
			p.extendOffer(had, known, now)
			return *had, false, nil
		}
		p.forget(had)
	}
	a, err := p.choose(client, known, subnet, ranges, want, now)
	if err != nil {
		return Lease{}, false, err
	}
	if old := p.byAddr[a]; old != nil {
		p.forget(old)
	}
	made := &Lease{Addr: a, Client: client, Known: known, Expires: now.Add(OfferTime)}
	p.keep(made)
	return *made, true, nil
}

// extendOffer keeps a lease for its client a little longer, and never shorter.
func (p *Pool) extendOffer(l *Lease, known bool, now time.Time) {
	p.uncount(l)
	l.Known = known
	if until := now.Add(OfferTime); l.Expires.Before(until) {
		l.Expires = until
	}
	p.count(l)
}

func (p *Pool) of(client string, subnet netip.Prefix) *Lease {
	for _, l := range p.byClient[client] {
		if subnet.Contains(l.Addr) {
			return l
		}
	}
	return nil
}

// Bind gives a client the address that it was offered, or has. An address that nobody has and that is free may be bound without an offer, if claim says so: by
// a client that comes back after our file was lost.
func (p *Pool) Bind(client string, known bool, a netip.Addr, claim bool) (Lease, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	l := p.byAddr[a]
	switch {
	case l != nil && l.Client != client && (l.Expires.After(now) || l.Known):
		return Lease{}, ErrTaken
	case p.reserved[a] != "" && p.reserved[a] != client:
		return Lease{}, ErrTaken
	case l == nil || l.Client != client:
		if err := p.claim(client, known, a, claim); err != nil {
			return Lease{}, err
		}
		l = p.byAddr[a]
	}
	p.uncount(l)
	l.Known, l.Bound, l.Expires = known, true, now.Add(p.cfg.Time)
	p.count(l)
	return *l, p.write(*l)
}

// claim makes a lease that was not offered.
func (p *Pool) claim(client string, known bool, a netip.Addr, allowed bool) error {
	subnet, has := p.Subnet(a)
	if !has || !allowed || p.of(client, subnet) != nil {
		return ErrNotOffered
	}
	if want := p.reservation(client, subnet); want.IsValid() && want != a {
		return ErrTaken
	}
	r := p.rangeFor(a)
	if r == nil && p.reserved[a] != client {
		return ErrNotOffered
	}
	if r != nil && !known && !r.admits() {
		return ErrExhausted
	}
	if old := p.byAddr[a]; old != nil {
		p.forget(old)
	}
	p.keep(&Lease{Addr: a, Client: client, Known: known})
	return nil
}

// Release ends the lease of a client. The address stays its own until somebody needs it.
func (p *Pool) Release(client string, a netip.Addr) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.byAddr[a]
	if l == nil || l.Client != client || client == "" {
		return ErrNotOffered
	}
	p.uncount(l)
	l.Bound, l.Expires = false, p.clock.Now()
	p.count(l)
	p.freed(a)
	return p.write(*l)
}

// Conflict keeps an address from all for ConflictTime: somebody has it who was not given it by us. A client can say so of its own address alone (RFC 2131
// §4.3.3), or everybody could empty the pool.
func (p *Pool) Conflict(client string, a netip.Addr) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.byAddr[a]
	if l == nil || l.Client != client || client == "" {
		return ErrNotOffered
	}
	p.forget(l)
	kept := &Lease{Addr: a, Expires: p.clock.Now().Add(ConflictTime)}
	p.keep(kept)
	return p.write(*kept)
}

// Client is who has an address; false: nobody.
func (p *Pool) Client(a netip.Addr) (Lease, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.byAddr[a]
	if l == nil || !l.Bound || l.Client == "" || !l.Expires.After(p.clock.Now()) {
		return Lease{}, false
	}
	return *l, true
}

// Leases are all that clients have taken, by address.
func (p *Pool) Leases() []Lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Lease
	for _, l := range p.byAddr {
		if l.Bound && l.Expires.After(p.clock.Now()) {
			all = append(all, *l)
		}
	}
	slices.SortFunc(all, func(a, b Lease) int { return a.Addr.Compare(b.Addr) })
	return all
}

// Held are the addresses that a client has taken and still has.
func (p *Pool) Held(client string) (held []netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.byClient[client] {
		if l.Bound && l.Expires.After(p.clock.Now()) {
			held = append(held, l.Addr)
		}
	}
	return held
}

// Boots notes that a client boots from the network: whoever asks by its MAC address later, and does not say so, is the system that it has booted.
func (p *Pool) Boots(client string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, l := range p.byClient[client] {
		if !l.Booted && l.Bound {
			l.Booted = true
			errs = append(errs, p.write(*l))
		}
	}
	return errors.Join(errs...)
}

// HasBooted reports whether a client with a lease has booted from the network.
func (p *Pool) HasBooted(client string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.byClient[client], func(l *Lease) bool { return l.Booted })
}

// Free is how many addresses nobody has a lease on, and Total how many there are.
func (p *Pool) Free() (free, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	for _, r := range p.ranges {
		total += r.total
	}
	free = total
	for _, l := range p.byAddr {
		if p.rangeFor(l.Addr) != nil && l.Expires.After(now) {
			free--
		}
	}
	return free, total
}

// Time is how long leases are good for.
func (p *Pool) Time() time.Duration { return p.cfg.Time }

func (p *Pool) rangeFor(a netip.Addr) *rangeState {
	for _, r := range p.ranges {
		if r.Contains(a) {
			return r
		}
	}
	return nil
}

func (p *Pool) keep(l *Lease) {
	p.byAddr[l.Addr] = l
	if r := p.rangeFor(l.Addr); r != nil {
		r.held++
	}
	if l.Client != "" {
		p.byClient[l.Client] = append(p.byClient[l.Client], l)
	}
	p.count(l)
}

func (p *Pool) forget(l *Lease) {
	p.uncount(l)
	delete(p.byAddr, l.Addr)
	if r := p.rangeFor(l.Addr); r != nil {
		r.held--
	}
	p.freed(l.Addr)
	rest := slices.DeleteFunc(p.byClient[l.Client], func(o *Lease) bool { return o == l })
	if len(rest) == 0 {
		delete(p.byClient, l.Client)
		return
	}
	p.byClient[l.Client] = rest
}

// freed has an address looked for again.
func (p *Pool) freed(a netip.Addr) {
	if r := p.rangeFor(a); r != nil {
		r.fullUntil = time.Time{}
		if p.byAddr[a] == nil && a.Less(r.next) {
			r.next = a
		}
	}
}

func (p *Pool) count(l *Lease)   { p.tally(l, 1) }
func (p *Pool) uncount(l *Lease) { p.tally(l, -1) }

func (p *Pool) tally(l *Lease, n int) {
	r := p.rangeFor(l.Addr)
	if r == nil || l.Known || l.Client == "" {
		return
	}
	r.strangers += n
	if !l.Bound {
		r.offered += n
	}
}
