package allocator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// server is a Server in the pool.
type server struct {
	name    string
	labels  map[string]string
	taints  *taintSet
	version string // resource version
	seen    standing
	// owner is the claim of a server that is taken, for people.
	owner string
	state metalv1.ServerState

	// assumedBy is the claim that the server is assumed for, and assumedUntil the version that binds it, which Observe has
	// not shown yet. With either, the server is not free.
	assumedBy    *pending
	assumedUntil string
	// conflictAt is a version at which the API refused to bind the server. At that version the server is not free.
	conflictAt string

	counted standing // how the postings count it
}

// now is the standing with assumptions and conflicts.
func (s *server) now() standing {
	if s.seen == free && (s.assumedBy != nil || s.assumedUntil != "" || s.conflictAt == s.version && s.conflictAt != "") {
		return taken
	}
	return s.seen
}

// terms visits all terms of a server.
func (s *server) terms(visit func(term)) {
	visit(anything)
	for key, value := range s.labels {
		visit(term{key: key, value: value})
		visit(term{key: key, any: true})
	}
}

// posting lists the servers that have a term. Lists are sorted by name.
type posting struct {
	all   []*server
	free  map[*taintSet][]*server
	count [standings]int
}

func (p *posting) add(s *server) {
	p.all = insert(p.all, s)
	p.countIn(s)
}

func (p *posting) remove(s *server) {
	p.all = without(p.all, s)
	p.countOut(s)
}

func (p *posting) countIn(s *server) {
	p.count[s.counted]++
	if s.counted == free {
		if p.free == nil {
			p.free = map[*taintSet][]*server{}
		}
		p.free[s.taints] = insert(p.free[s.taints], s)
	}
}

func (p *posting) countOut(s *server) {
	p.count[s.counted]--
	if s.counted == free {
		if p.free[s.taints] = without(p.free[s.taints], s); len(p.free[s.taints]) == 0 {
			delete(p.free, s.taints)
		}
	}
}

func byName(a, b *server) int { return cmp.Compare(a.name, b.name) }

func insert(list []*server, s *server) []*server {
	i, found := slices.BinarySearchFunc(list, s, byName)
	if found {
		return list
	}
	return slices.Insert(list, i, s)
}

func without(list []*server, s *server) []*server {
	if i, found := slices.BinarySearchFunc(list, s, byName); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// taintSet is a set of taints. There are few; servers with the same taints share one, so
// that the pool asks once whether a claim tolerates them.
type taintSet struct {
	key     string
	taints  []metalv1.Taint
	servers int
}

func taintsKey(taints []metalv1.Taint) string {
	keys := make([]string, 0, len(taints))
	for _, t := range taints {
		if t.Effect != metalv1.TaintEffectEvict {
			keys = append(keys, fmt.Sprintf("%q %q", t.Key, t.Value))
		}
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), ",")
}
