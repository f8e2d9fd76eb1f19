package allocator

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Pool knows every Server and every claim that waits for one. It may be used from several goroutines.
type Pool struct {
	mu       sync.Mutex
	servers  map[string]*server
	postings map[term]*posting
	taints   map[string]*taintSet
	// order holds the sets of taints by their keys: the untainted come first.
	order []*taintSet

	claims map[types.UID]*pending
	byName map[types.NamespacedName]*pending
	wants  map[string]*want
	// filed finds wants by a term that a server must have to match; named, by the server's name.
	filed map[term]map[*want]struct{}
	named map[string]map[*want]struct{}

	// visited counts the servers and wants that were looked at one by one, for tests of what things cost.
	visited int
}

// NewPool returns a pool that knows nothing.
func NewPool() *Pool {
	return &Pool{
		servers: map[string]*server{}, postings: map[term]*posting{anything: {}}, taints: map[string]*taintSet{},
		claims: map[types.UID]*pending{}, byName: map[types.NamespacedName]*pending{}, wants: map[string]*want{},
		filed: map[term]map[*want]struct{}{}, named: map[string]map[*want]struct{}{},
	}
}

// Observe tells the pool what a Server is now. It returns whether that may be something for a claim that waits.
func (p *Pool) Observe(obj *metalv1.Server) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.servers[obj.Name]
	if s == nil {
		s = &server{name: obj.Name, labels: obj.Labels, taints: p.intern(obj.Spec.Taints)}
		p.servers[obj.Name] = s
		p.take(s, obj)
		s.counted = s.now()
		s.terms(func(t term) { p.posting(t).add(s) })
		return s.counted == free && p.undry(s)
	}
	wasFree := s.counted == free
	relabelled := !maps.Equal(s.labels, obj.Labels)
	retainted := s.taints.key != taintsKey(obj.Spec.Taints)
	if relabelled || retainted {
		p.drop(s)
		p.release(s.taints)
		s.labels, s.taints = obj.Labels, p.intern(obj.Spec.Taints)
		p.take(s, obj)
		s.counted = s.now()
		s.terms(func(t term) { p.posting(t).add(s) })
	} else {
		s.labels = obj.Labels // equal, and not what an old object is kept alive by
		p.take(s, obj)
		p.recount(s)
	}
	return s.counted == free && (!wasFree || relabelled || retainted) && p.undry(s)
}

// take reads the parts of an object that change without moving the server in the index.
func (p *Pool) take(s *server, obj *metalv1.Server) {
	s.version, s.seen, s.state, s.owner = obj.ResourceVersion, standingOf(obj), obj.Status.State, ""
	if ref := obj.Spec.ServerClaimRef; ref != nil {
		s.owner = ref.Namespace + "/" + ref.Name
	}
	s.settle()
}

// settle ends the holding back of a server whose news have come round.
func (s *server) settle() {
	if s.heldUntil != "" && !Older(s.version, s.heldUntil) {
		s.heldUntil = ""
	}
}

// Older compares resource versions, which are numbers that grow. What cannot be compared is not older.
func Older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
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

// Forget tells the pool that a Server does not exist any more.
func (p *Pool) Forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.servers[name]
	if s == nil {
		return
	}
	p.drop(s)
	p.release(s.taints)
	delete(p.servers, name)
	if c := s.heldFor; c != nil {
		s.heldFor, c.given = nil, nil
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

// drop takes a server out of the index.
func (p *Pool) drop(s *server) {
	s.terms(func(t term) {
		list := p.postings[t]
		if list.remove(s); len(list.all) == 0 && t != anything {
			delete(p.postings, t)
		}
	})
}

// intern returns the one set of these taints.
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

func (p *Pool) release(set *taintSet) {
	if set.servers--; set.servers == 0 {
		delete(p.taints, set.key)
		p.order = slices.DeleteFunc(p.order, func(s *taintSet) bool { return s == set })
	}
}
