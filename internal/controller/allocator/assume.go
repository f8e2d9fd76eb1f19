package allocator

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Assumption is a Server that Match has chosen for a claim. No other claim gets the Server until the assumption ends:
// when Observe shows the write that binds the Server, or by Conflict or Withdraw before that write.
type Assumption struct {
	Claim  types.NamespacedName
	UID    types.UID
	Server string
	// Bound is the version of the Server that binds it to the claim; empty before that write.
	Bound string
}

// assume sets a server aside for a claim that waits.
func (p *Pool) assume(c *pending, s *server) Assumption {
	p.leave(c)
	c.assumed, s.assumedBy = s, c
	p.recount(s)
	return Assumption{Claim: c.name, UID: c.uid, Server: s.name}
}

// Assumed returns the assumption about a claim, and whether there is one.
func (p *Pool) Assumed(uid types.UID) (Assumption, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.claims[uid]
	if c == nil || c.assumed == nil {
		return Assumption{}, false
	}
	return Assumption{Claim: c.name, UID: c.uid, Server: c.assumed.name, Bound: c.assumed.assumedUntil}, true
}

// Bound records that the assumed Server was bound to its claim, by a write that made this version of the Server. The
// assumption lasts until Observe shows that version. Bound reports whether the Server may already be something for another claim.
func (p *Pool) Bound(uid types.UID, version string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.claims[uid]
	if c == nil {
		return false
	}
	s := c.assumed
	if s == nil {
		p.withdraw(c)
		return false
	}
	s.assumedUntil = version
	p.confirm(s)
	p.recount(s)
	return s.counted == free && p.reopen(s)
}

// Conflict records that the API refused to bind the assumed Server: version is not its latest, or the write is not allowed. The
// claim waits again, and nobody gets the Server until Observe shows a later version. An empty version stands for the one observed last.
func (p *Pool) Conflict(uid types.UID, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.claims[uid]
	if c == nil || c.assumed == nil || c.assumed.assumedUntil != "" {
		return
	}
	s := c.assumed
	c.assumed, s.assumedBy, s.conflictAt = nil, nil, version
	if version == "" {
		s.conflictAt = s.version
	}
	p.wait(c)
	if p.recount(s); s.counted == free {
		p.reopen(s) // Observe has shown a later version meanwhile
	}
}

// confirm clears the assumption about a server once the cache shows the write that bound it.
func (p *Pool) confirm(s *server) {
	if s.assumedUntil == "" || Older(s.version, s.assumedUntil) {
		return
	}
	p.end(s)
}

// end ends the assumption about a server; its claim leaves the pool.
func (p *Pool) end(s *server) {
	s.assumedUntil = ""
	if c := s.assumedBy; c != nil {
		c.assumed, s.assumedBy = nil, nil
		p.forget(c)
	}
}

// Older reports whether resource version a is older than b. Resource versions are numbers that grow; what cannot be compared is not
// older.
func Older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
