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
	// ErrUnsaved: a lease was prolonged, and the file does not say so. The client may know it: after a restart its lease has ended, and its address is still its own.
	ErrUnsaved = errors.New("prolonged in memory alone")
)

const (
	// OfferTime is how long an offered address waits to be taken. Firmware answers within seconds.
	OfferTime = 30 * time.Second
	// ConflictTime is how long an address that somebody else was found to have is left alone.
	ConflictTime = 10 * time.Minute
	// maxDeclined is how many addresses are left alone on the word of one client.
	maxDeclined = 8
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
	// Stranger says of a conflict that a stranger has reported it: the address counts among those of strangers. by is the client that has reported it.
	Stranger bool
	by       string

	place place
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
	// declined are the conflicts that a client has reported.
	declined map[string][]*Lease
	ranges   []*rangeState
	journal  *journal
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
	p := &Pool{
		cfg: cfg, clock: cfg.Clock, byAddr: map[netip.Addr]*Lease{}, byClient: map[string][]*Lease{}, reserved: map[netip.Addr]string{}, declined: map[string][]*Lease{},
	}
	for _, r := range cfg.Ranges {
		if n := r.size(); n == MaxAddresses && r.First.Is4() {
			return nil, fmt.Errorf("range %s has more than %d addresses", r, MaxAddresses-1)
		}
		p.ranges = append(p.ranges, newRangeState(r))
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
		p.drop(old)
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
// a client that comes back after our file was lost. The lease counts where the error is nil or ErrUnsaved.
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
	had := *l
	p.bound(l, known, true, now.Add(p.cfg.Time))
	err := p.write(*l)
	switch {
	case err != nil && had.Bound:
		return *l, fmt.Errorf("%w: %w", ErrUnsaved, err)
	case err != nil:
		p.bound(l, known, false, now.Add(OfferTime)) // nobody is told of it
	}
	return *l, err
}

func (p *Pool) bound(l *Lease, known, bound bool, until time.Time) {
	p.uncount(l)
	l.Known, l.Bound, l.Expires = known, bound, until
	p.count(l)
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
		p.drop(old)
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
	return p.write(*l)
}

// Conflict keeps an address from all for ConflictTime: we have seen that somebody has it who was not given it by us.
func (p *Pool) Conflict(client string, a netip.Addr) error { return p.conflict(client, a, false) }

// Decline is a Conflict that we have by the word of the client alone. It can say so of its own address only (RFC 2131 §4.3.3), and of maxDeclined of them at a time:
// something that answers for every address, and the client would empty the pool. Declined addresses of strangers are theirs.
func (p *Pool) Decline(client string, a netip.Addr) error { return p.conflict(client, a, true) }

func (p *Pool) conflict(client string, a netip.Addr, said bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.byAddr[a]
	if l == nil || l.Client != client || client == "" {
		return ErrNotOffered
	}
	p.drop(l)
	kept := &Lease{Addr: a, Expires: p.clock.Now().Add(ConflictTime)}
	if said {
		kept.Stranger, kept.by = !l.Known, client
		if had := p.declined[client]; len(had) >= maxDeclined {
			p.forget(had[0])
		}
	}
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
