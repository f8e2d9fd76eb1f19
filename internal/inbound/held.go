package inbound

import (
	"container/heap"
	"container/list"
	"net/netip"
	"sync/atomic"
)

// held is a connection that a budget counts.
type held struct {
	peer *peer
	// close closes the connection itself.
	close func()
	// requests are those under way: several, with HTTP/2.
	requests atomic.Int32
	// since is when it began to wait, in nanoseconds; valid while no request is under way.
	since atomic.Int64
	// place is its place among those of its peer, nil once it is let go, and sorted the value of since that gave it that place.
	place  *list.Element
	sorted int64
}

func (h *held) waits() bool { return h.requests.Load() == 0 }

// peer is an address with what it holds. Those that have waited longest stand in front, or nearly so: requests do not move
// connections, longestWaiting does when it comes across them.
type peer struct {
	address netip.Addr
	holds   list.List
	came    uint64 // the earlier, the smaller
	at      int    // in its crowd
}

// lookAt bounds how many connections are looked at for one that waits. Those that do not are moved behind the others, so the next
// look begins elsewhere.
const lookAt = 64

// longestWaiting is the connection that has waited longest, of those that are looked at; nil where none waits.
func (p *peer) longestWaiting() (found *held) {
	var longest int64
	for range min(lookAt, p.holds.Len()) {
		h := p.holds.Front().Value.(*held)
		since, waits := h.since.Load(), h.waits()
		if waits && since == h.sorted && (found == nil || since <= longest) {
			return h // those behind it came to their place later
		}
		if waits && (found == nil || since < longest) {
			found, longest = h, since
		}
		h.sorted = since
		p.holds.MoveToBack(h.place)
	}
	return found
}

// crowd is all peers, whoever holds most in front; of those that hold as many, who came first.
type crowd []*peer

func (c crowd) Len() int { return len(c) }
func (c crowd) Less(i, j int) bool {
	if a, b := c[i].holds.Len(), c[j].holds.Len(); a != b {
		return a > b
	}
	return c[i].came < c[j].came
}

func (c crowd) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].at, c[j].at = i, j
}

func (c *crowd) Push(x any) {
	p := x.(*peer)
	p.at = len(*c)
	*c = append(*c, p)
}

func (c *crowd) Pop() any {
	last := len(*c) - 1
	p := (*c)[last]
	(*c)[last] = nil
	*c = (*c)[:last]
	return p
}

// first calls look with peers in their order until it returns true, for at most n of them.
func (c *crowd) first(n int, look func(*peer) bool) {
	var seen []*peer
	for range min(n, c.Len()) {
		p := heap.Pop(c).(*peer)
		seen = append(seen, p)
		if look(p) {
			break
		}
	}
	for _, p := range seen {
		heap.Push(c, p)
	}
}
