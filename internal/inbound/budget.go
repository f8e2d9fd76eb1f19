package inbound

import (
	"container/heap"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
)

const (
	// young connections are not closed for the sake of the number of those that wait: a machine that has just connected is about to ask.
	young = time.Second
	// few is how many connections are not many for one address; beyond that being young does not help.
	few = 8
	// candidates is how many peers are asked for a connection before the new one is let in or refused without.
	candidates = 16
)

// Budget is the connections that one kind of caller may have. It is safe for concurrent use.
type Budget struct {
	name   string
	limits Limits
	clock  clock.Clock
	notice notice

	mu    sync.Mutex
	peers map[netip.Addr]*peer
	crowd crowd
	held  int
	came  uint64
	// busy is how many connections have a request under way.
	busy atomic.Int64

	counts [outcomes]atomic.Uint64
	series descriptions
}

// New makes a budget. Its name is that of its metrics.
func New(name string, limits Limits, c clock.Clock, logger logr.Logger) *Budget {
	return &Budget{
		name: name, limits: limits, clock: c, notice: newNotice(logger, c), peers: map[netip.Addr]*peer{}, series: describe(name),
	}
}

// Limits are the budget's.
func (b *Budget) Limits() Limits { return b.limits }

// outcome is what was done about a connection that is one too many.
type outcome int

const (
	fine outcome = iota
	// replaced: it took the place of another of its address, which had as many as it may have.
	replaced
	// made: another address made room for it.
	made
	// refusedAddress and refusedTotal: it was closed.
	refusedAddress
	refusedTotal
	// refusedPace: its address began too many TLS handshakes.
	refusedPace
	// failed is an Accept that failed.
	failed
	outcomes
)

// reasons are the labels of metrics.
var reasons = [outcomes]string{replaced: "address", made: "pressure", refusedAddress: "address", refusedTotal: "total", refusedPace: "handshakes"}

// admit counts a connection from an address, and says by which of those that there are it is replaced. It is nil when the
// connection is to be closed.
func (b *Budget) admit(address netip.Addr, shut func()) *held {
	address = ratelimit.HostOf(address)
	now := b.clock.Now()
	b.mu.Lock()
	victim, what := b.decide(address, now)
	holding := 0
	if victim != nil {
		b.letGo(victim)
	}
	var h *held
	if what != refusedAddress && what != refusedTotal {
		h = b.take(address, now, shut)
	}
	if p := b.peers[address]; p != nil {
		holding = p.holds.Len()
	}
	blamed := address
	if victim != nil {
		blamed = victim.peer.address
	}
	b.mu.Unlock()

	b.counts[what].Add(1)
	if victim != nil {
		victim.close()
	}
	if what != fine {
		b.notice.tell(b.name, blamed, what, holding, b.limits)
	}
	return h
}

// heldBy is how many connections an address has.
func (b *Budget) heldBy(address netip.Addr) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.peers[address]; p != nil {
		return p.holds.Len()
	}
	return 0
}

// decide says which connection has to go for a new one from an address, if any, or that the new one has to.
func (b *Budget) decide(address netip.Addr, now time.Time) (*held, outcome) {
	own := 0
	if p := b.peers[address]; p != nil {
		own = p.holds.Len()
		if own >= b.limits.PerAddress {
			if victim := p.longestWaiting(); victim != nil {
				return victim, replaced
			}
			return nil, refusedAddress
		}
	}
	if b.held >= b.limits.Total {
		if victim := b.waiting(func(*held) bool { return true }); victim != nil {
			return victim, made
		}
		if greedy := b.crowd[0]; greedy.holds.Len() > own+1 {
			return greedy.holds.Back().Value.(*held), made
		}
		return nil, refusedTotal
	}
	if waiting := b.held - int(b.busy.Load()); waiting > 0 && (waiting >= b.limits.Waiting || b.held >= b.limits.Total/4*3) {
		settled := now.Add(-young).UnixNano()
		victim := b.waiting(func(h *held) bool { return h.since.Load() < settled || h.peer.holds.Len() > few })
		if victim != nil {
			return victim, made
		}
	}
	return nil, fine
}

// waiting is a connection of whoever holds most that waits and is not spared; nil: none of those that were asked has one.
func (b *Budget) waiting(spare func(*held) bool) (victim *held) {
	b.crowd.first(candidates, func(p *peer) bool {
		if h := p.longestWaiting(); h != nil && spare(h) {
			victim = h
		}
		return victim != nil
	})
	return victim
}

// take adds a connection that waits.
func (b *Budget) take(address netip.Addr, now time.Time, shut func()) *held {
	p := b.peers[address]
	if p == nil {
		b.came++
		p = &peer{address: address, came: b.came}
		b.peers[address] = p
		heap.Push(&b.crowd, p)
	}
	h := &held{peer: p, close: shut, sorted: now.UnixNano()}
	h.since.Store(h.sorted)
	h.place = p.holds.PushBack(h)
	b.held++
	heap.Fix(&b.crowd, p.at)
	return h
}

// letGo counts a connection no more. It may be called again.
func (b *Budget) letGo(h *held) {
	if h.place == nil {
		return
	}
	p := h.peer
	p.holds.Remove(h.place)
	h.place = nil
	b.held--
	if p.holds.Len() > 0 {
		heap.Fix(&b.crowd, p.at)
		return
	}
	heap.Remove(&b.crowd, p.at)
	delete(b.peers, p.address)
}

// gone is letGo for a connection that has been closed.
func (b *Budget) gone(h *held) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.letGo(h)
}

// begin says that a request is under way on a connection, and end that it has been answered.
func (b *Budget) begin(h *held) {
	if h.requests.Add(1) == 1 {
		b.busy.Add(1)
	}
}

func (b *Budget) end(h *held) {
	h.since.Store(b.clock.Now().UnixNano())
	if h.requests.Add(-1) == 0 {
		b.busy.Add(-1)
	}
}
