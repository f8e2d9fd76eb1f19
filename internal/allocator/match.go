package allocator

import (
	"container/heap"

	"k8s.io/apimachinery/pkg/types"
)

// candidates is how many free servers are compared for one claim.
const candidates = 64

// Given is a Server that a claim shall have. It is nobody else's until Taken, Lost or Withdraw is called for the claim.
type Given struct {
	Claim  types.NamespacedName
	UID    types.UID
	Server string
}

// Match gives free Servers to the claims that wait, oldest first, until none is left that a free
// Server fits. unmatched are the claims that got nothing and have not been told so since they were hopeful last.
func (p *Pool) Match() (given []Given, unmatched []types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var queue oldestFirst
	for _, w := range p.wants {
		if !w.dry {
			queue = append(queue, w)
		}
	}
	heap.Init(&queue)
	for len(queue) > 0 {
		w := queue[0]
		s := p.pick(w)
		if s == nil {
			w.dry = true
			heap.Pop(&queue)
			for _, c := range w.waiting {
				if !c.told {
					c.told = true
					unmatched = append(unmatched, c.name)
				}
			}
			continue
		}
		c := w.waiting[0]
		p.leave(c)
		c.given, s.heldFor = s, c
		p.recount(s)
		given = append(given, Given{c.name, c.uid, s.name})
		if len(w.waiting) == 0 {
			heap.Pop(&queue)
		} else {
			heap.Fix(&queue, 0)
		}
	}
	return given, unmatched
}

// pick returns the free server, of those that fit, that the fewest other wants fit too.
func (p *Pool) pick(w *want) *server {
	if w.server != "" {
		s := p.servers[w.server]
		if s != nil && s.counted == free && w.matches(s) && w.tolerates(s.taints.taints) {
			return s
		}
		return nil
	}
	var best *server
	least := 0
	for i, s := range p.fitting(w) {
		limit := len(p.wants) + 1
		if i > 0 {
			limit = least
		}
		if n := p.demand(s, limit); i == 0 || n < least || n == least && s.name < best.name {
			best, least = s, n
		}
	}
	return best
}

// fitting returns the first free servers that fit.
func (p *Pool) fitting(w *want) []*server {
	found := make([]*server, 0, candidates)
	terms := p.narrowest(w, func(list *posting) int { return list.count[free] })
	for _, set := range p.order {
		if !w.tolerates(set.taints) {
			continue
		}
		for _, t := range terms {
			list := p.postings[t]
			if list == nil {
				continue
			}
			for _, s := range list.free[set] {
				p.visited++
				if w.simple || w.matches(s) {
					if found = append(found, s); len(found) == candidates {
						return found
					}
				}
			}
		}
	}
	return found
}

// demand counts the wants that a server fits, and gives up at limit.
func (p *Pool) demand(s *server, limit int) int {
	n := 0
	p.wanting(s, func(*want) bool {
		n++
		return n <= limit
	})
	return n
}

// oldestFirst is a heap of wants by their oldest claim.
type oldestFirst []*want

func (q oldestFirst) Len() int           { return len(q) }
func (q oldestFirst) Less(i, j int) bool { return q[i].waiting[0].older(q[j].waiting[0]) < 0 }
func (q oldestFirst) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *oldestFirst) Push(x any)        { *q = append(*q, x.(*want)) }
func (q *oldestFirst) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	*q = (*q)[:last]
	return w
}

// GivenTo returns the name of the Server that Match gave to a claim and that has been neither taken nor lost since.
func (p *Pool) GivenTo(uid types.UID) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.claims[uid]; c != nil && c.given != nil {
		return c.given.name, true
	}
	return "", false
}

// Taken says that a claim has taken what it was given, which made version of the Server. Until news of that version have
// come, what is heard of the Server is older than that. It returns whether the Server is something for another claim already.
func (p *Pool) Taken(uid types.UID, version string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.claims[uid]
	if c == nil {
		return false
	}
	delete(p.claims, uid)
	delete(p.byName, c.name)
	s := c.given
	if s == nil {
		p.leave(c)
		return false
	}
	c.given, s.heldFor, s.heldUntil = nil, nil, version
	s.settle()
	p.recount(s)
	return s.counted == free && p.undry(s)
}

// Lost says that a claim could not take what it was given: version of the Server is not its latest, or it is refused. The
// claim waits again, and the Server is left alone until there are news of it. version is that of the attempt; empty
// where there was none.
func (p *Pool) Lost(uid types.UID, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.claims[uid]
	if c == nil || c.given == nil {
		return
	}
	s := c.given
	c.given, s.heldFor, s.lostAt = nil, nil, version
	if version == "" {
		s.lostAt = s.version
	}
	p.wait(c)
	if p.recount(s); s.counted == free {
		p.undry(s) // there were news meanwhile
	}
}
