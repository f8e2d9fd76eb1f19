package allocator

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Pool holds every Server and every claim without one. It is safe for concurrent use.
type Pool struct {
	mu       sync.Mutex
	servers  map[string]*server
	postings map[term]*posting
	taints   map[string]*taintSet
	// order holds the sets of taints by their keys: the untainted come first.
	order []*taintSet

	claims   map[types.UID]*pending
	byName   map[types.NamespacedName]*pending
	requests map[string]*request
	// filed indexes requests by a term that a server must have to match; named, by the server's name.
	filed map[term]map[*request]struct{}
	named map[string]map[*request]struct{}

	// visited counts the servers and requests that were compared one by one: tests bound it.
	visited int
}

// NewPool returns an empty pool.
func NewPool() *Pool {
	return &Pool{
		servers: map[string]*server{}, postings: map[term]*posting{anything: {}}, taints: map[string]*taintSet{},
		claims: map[types.UID]*pending{}, byName: map[types.NamespacedName]*pending{}, requests: map[string]*request{},
		filed: map[term]map[*request]struct{}{}, named: map[string]map[*request]struct{}{},
	}
}

// Observe takes what the cache shows of a Server. It reports whether a claim that waits may get the Server now.
func (p *Pool) Observe(obj *metalv1.Server) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.servers[obj.Name]
	if s == nil {
		s = &server{name: obj.Name, labels: obj.Labels, taints: p.intern(obj.Spec.Taints)}
		p.servers[obj.Name] = s
		p.update(s, obj)
		s.counted = s.now()
		s.terms(func(t term) { p.posting(t).add(s) })
		return s.counted == free && p.reopen(s)
	}
	wasFree := s.counted == free
	relabelled := !maps.Equal(s.labels, obj.Labels)
	retainted := s.taints.key != taintsKey(obj.Spec.Taints)
	if relabelled || retainted {
		p.drop(s)
		p.discard(s.taints)
		s.labels, s.taints = obj.Labels, p.intern(obj.Spec.Taints)
		p.update(s, obj)
		s.counted = s.now()
		s.terms(func(t term) { p.posting(t).add(s) })
	} else {
		s.labels = obj.Labels // equal: this lets go of the old object
		p.update(s, obj)
		p.recount(s)
	}
	return s.counted == free && (!wasFree || relabelled || retainted) && p.reopen(s)
}

// Empty reports whether no Server exists.
func (p *Pool) Empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.servers) == 0
}

// update takes the parts of an object that change without moving the server in the index.
func (p *Pool) update(s *server, obj *metalv1.Server) {
	s.version, s.seen, s.state, s.owner = obj.ResourceVersion, standingOf(obj), obj.Status.State, ""
	if ref := obj.Spec.ServerClaimRef; ref != nil {
		s.owner = ref.Namespace + "/" + ref.Name
	}
	p.confirm(s)
}

// recount moves a server between the counts of its postings if its standing has changed.
func (p *Pool) recount(s *server) {
	now := s.now()
	if now == s.counted {
		return
	}
	s.terms(func(t term) { p.postings[t].countOut(s) })
	s.counted = now
	s.terms(func(t term) { p.postings[t].countIn(s) })
}

// Forget removes a Server that no longer exists.
func (p *Pool) Forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.servers[name]
	if s == nil {
		return
	}
	p.drop(s)
	p.discard(s.taints)
	delete(p.servers, name)
	switch c := s.assumedBy; {
	case c == nil:
	case s.assumedUntil != "":
		p.end(s)
	default:
		s.assumedBy, c.assumed = nil, nil
		p.wait(c)
	}
}

func (p *Pool) posting(t term) *posting {
	list := p.postings[t]
	if list == nil {
		list = &posting{}
		p.postings[t] = list
	}
	return list
}

// drop removes a server from the index.
func (p *Pool) drop(s *server) {
	s.terms(func(t term) {
		list := p.postings[t]
		if list.remove(s); len(list.all) == 0 && t != anything {
			delete(p.postings, t)
		}
	})
}

// intern returns the set of these taints that their servers share.
func (p *Pool) intern(taints []metalv1.Taint) *taintSet {
	key := taintsKey(taints)
	set := p.taints[key]
	if set == nil {
		set = &taintSet{key: key, taints: slices.Clone(taints)}
		p.taints[key] = set
		i, _ := slices.BinarySearchFunc(p.order, key, func(s *taintSet, key string) int { return strings.Compare(s.key, key) })
		p.order = slices.Insert(p.order, i, set)
	}
	set.servers++
	return set
}

// discard drops a set of taints when its last server goes.
func (p *Pool) discard(set *taintSet) {
	if set.servers--; set.servers == 0 {
		delete(p.taints, set.key)
		p.order = slices.DeleteFunc(p.order, func(s *taintSet) bool { return s == set })
	}
}
