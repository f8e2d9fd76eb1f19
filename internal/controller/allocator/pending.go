package allocator

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// pending is a claim that has no Server yet.
type pending struct {
	name    types.NamespacedName
	uid     types.UID
	since   int64 // of creation, seconds
	request *request
	assumed *server // nil while it waits
	// notified says that Match has returned the claim as unmatched.
	notified bool
}

// older compares claims in the order of service: by age, and those of one second by name.
func (c *pending) older(other *pending) int {
	return cmp.Or(cmp.Compare(c.since, other.since), cmp.Compare(c.name.Namespace, other.name.Namespace),
		cmp.Compare(c.name.Name, other.name.Name), cmp.Compare(c.uid, other.uid))
}

// Pend adds a claim to those that wait for a Server. It reports whether Match may find one; if not, Match has tried and no
// Server has become free since. A claim that already waits, or that a Server is assumed for, keeps its place. An earlier claim of the same
// name, or an earlier request of this one, is withdrawn; a Server that was assumed for it is free again.
func (p *Pool) Pend(c *metalv1.ServerClaim) (hopeful bool, err error) {
	fresh, err := newRequest(c)
	if err != nil {
		return p.Withdraw(types.NamespacedName{Namespace: c.Namespace, Name: c.Name}), err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	name := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	freed := false
	if known := p.byName[name]; known != nil {
		switch {
		case known.uid == c.UID && known.request.key == fresh.key:
			hopeful = known.assumed != nil || !known.request.unmatched
			known.notified = known.notified && !hopeful // its status does not say so now: Match has to notify it again
			return hopeful, nil
		case known.uid == c.UID && known.assumed != nil:
			return true, nil // its Server is being bound, whatever it asks for now
		}
		freed = p.withdraw(known)
	}
	entry := &pending{name: name, uid: c.UID, since: c.CreationTimestamp.Unix(), request: fresh}
	p.claims[c.UID], p.byName[name] = entry, entry
	if p.wait(entry); freed {
		entry.request.unmatched = false // Match has to look for others, and notifies this one too
	}
	return !entry.request.unmatched, nil
}

// Withdraw removes a claim that has its Server or is gone. A Server that is assumed for it and not bound is free again; Withdraw
// reports whether another claim may get it. An assumption that is bound lasts until Observe shows it.
func (p *Pool) Withdraw(name types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.byName[name]
	return c != nil && p.withdraw(c)
}

func (p *Pool) withdraw(c *pending) bool {
	if s := c.assumed; s != nil && s.assumedUntil != "" {
		return false
	}
	p.forget(c)
	if s := c.assumed; s != nil {
		c.assumed, s.assumedBy = nil, nil
		p.recount(s)
		return s.counted == free && p.reopen(s)
	}
	p.leave(c)
	return false
}

// forget removes a claim from the index. A later claim of its name stays.
func (p *Pool) forget(c *pending) {
	delete(p.claims, c.uid)
	if p.byName[c.name] == c {
		delete(p.byName, c.name)
	}
}

// wait adds a claim to the others with the same request.
func (p *Pool) wait(c *pending) {
	req := p.requests[c.request.key]
	if req == nil {
		req = c.request
		req.unmatched = false
		p.requests[req.key] = req
		p.file(req)
	}
	c.request = req
	i, found := slices.BinarySearchFunc(req.waiting, c, (*pending).older)
	if !found {
		req.waiting = slices.Insert(req.waiting, i, c)
	}
}

// leave is the opposite of wait.
func (p *Pool) leave(c *pending) {
	req := c.request
	if i, found := slices.BinarySearchFunc(req.waiting, c, (*pending).older); found {
		req.waiting = slices.Delete(req.waiting, i, i+1)
	}
	if len(req.waiting) == 0 {
		delete(p.requests, req.key)
		p.unfile(req)
	}
}

// file indexes a request by the name of its server, or by its most selective requirement.
func (p *Pool) file(req *request) {
	if req.server != "" {
		file(p.named, req.server, req)
		return
	}
	req.filed = p.narrowest(req, func(list *posting) int { return len(list.all) })
	for _, t := range req.filed {
		file(p.filed, t, req)
	}
}

func (p *Pool) unfile(req *request) {
	if req.server != "" {
		unfile(p.named, req.server, req)
	}
	for _, t := range req.filed {
		unfile(p.filed, t, req)
	}
	req.filed = nil
}

// narrowest returns the terms of the requirement that the fewest servers have; size counts the servers of a posting.
func (p *Pool) narrowest(req *request, size func(*posting) int) []term {
	best, least := []term{anything}, -1
	for _, terms := range req.positive {
		n := 0
		for _, t := range terms {
			if list := p.postings[t]; list != nil {
				n += size(list)
			}
		}
		if least < 0 || n < least {
			best, least = terms, n
		}
	}
	return best
}

// reopen has Match try again every request that a free server fits, and reports whether there is one.
func (p *Pool) reopen(s *server) bool {
	found := false
	p.requestsFor(s, func(req *request) bool {
		req.unmatched, found = false, true
		return true
	})
	return found
}

// requestsFor visits the requests that a server fits, until visit returns false.
func (p *Pool) requestsFor(s *server, visit func(*request) bool) {
	ask := func(requests map[*request]struct{}) bool {
		for req := range requests {
			p.visited++
			if req.tolerates(s.taints.taints) && req.matches(s) && !visit(req) {
				return false
			}
		}
		return true
	}
	if !ask(p.named[s.name]) || !ask(p.filed[anything]) {
		return
	}
	for key, value := range s.labels {
		if !ask(p.filed[term{key: key, value: value}]) || !ask(p.filed[term{key: key, any: true}]) {
			return
		}
	}
}

func file[K comparable](index map[K]map[*request]struct{}, key K, req *request) {
	if index[key] == nil {
		index[key] = map[*request]struct{}{}
	}
	index[key][req] = struct{}{}
}

func unfile[K comparable](index map[K]map[*request]struct{}, key K, req *request) {
	if delete(index[key], req); len(index[key]) == 0 {
		delete(index, key)
	}
}
