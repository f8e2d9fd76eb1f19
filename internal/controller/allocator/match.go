package allocator

import (
	"container/heap"

	"k8s.io/apimachinery/pkg/types"
)

// candidates bounds how many free servers are compared for one claim.
const candidates = 64

// Match assumes a free Server for each claim that waits, the oldest first, until no claim is left that a free Server
// fits. unmatched are the claims without one that no earlier call has returned since they became hopeful.
func (p *Pool) Match() (assumed []Assumption, unmatched []types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var queue oldestFirst
	for _, req := range p.requests {
		if !req.unmatched {
			queue = append(queue, req)
		}
	}
	heap.Init(&queue)
	for len(queue) > 0 {
		req := queue[0]
		s := p.pick(req)
		if s == nil {
			req.unmatched = true
			heap.Pop(&queue)
			for _, c := range req.waiting {
				if !c.notified {
					c.notified = true
					unmatched = append(unmatched, c.name)
				}
			}
			continue
		}
		c := req.waiting[0]
		assumed = append(assumed, p.assume(c, s))
		if len(req.waiting) == 0 {
			heap.Pop(&queue)
		} else {
			heap.Fix(&queue, 0)
		}
	}
	return assumed, unmatched
}

// pick returns the free server that fits and that the fewest other requests fit too.
func (p *Pool) pick(req *request) *server {
	if req.server != "" {
		s := p.servers[req.server]
		if s != nil && s.counted == free && req.matches(s) && req.tolerates(s.taints.taints) {
			return s
		}
		return nil
	}
	var best *server
	least := 0
	for i, s := range p.fitting(req) {
		limit := len(p.requests) + 1
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
func (p *Pool) fitting(req *request) []*server {
	found := make([]*server, 0, candidates)
	terms := p.narrowest(req, func(list *posting) int { return list.count[free] })
	for _, set := range p.order {
		if !req.tolerates(set.taints) {
			continue
		}
		for _, t := range terms {
			list := p.postings[t]
			if list == nil {
				continue
			}
			for _, s := range list.free[set] {
				p.visited++
				if req.simple || req.matches(s) {
					if found = append(found, s); len(found) == candidates {
						return found
					}
				}
			}
		}
	}
	return found
}

// demand counts the requests that a server fits, and gives up at limit.
func (p *Pool) demand(s *server, limit int) int {
	n := 0
	p.requestsFor(s, func(*request) bool {
		n++
		return n <= limit
	})
	return n
}

// oldestFirst is a heap of requests by their oldest claim.
type oldestFirst []*request

func (q oldestFirst) Len() int           { return len(q) }
func (q oldestFirst) Less(i, j int) bool { return q[i].waiting[0].older(q[j].waiting[0]) < 0 }
func (q oldestFirst) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *oldestFirst) Push(x any)        { *q = append(*q, x.(*request)) }
func (q *oldestFirst) Pop() any {
	last := len(*q) - 1
	req := (*q)[last]
	*q = (*q)[:last]
	return req
}
