package lease

import (
	"net/netip"
	"time"
)

// choose finds the address for a client that has none in a subnet.
func (p *Pool) choose(client string, known bool, subnet netip.Prefix, ranges []*rangeState, want netip.Addr, now time.Time) (netip.Addr, error) {
	if a := p.reservation(client, subnet); a.IsValid() {
		if l := p.byAddr[a]; l != nil && l.Client != client && l.Expires.After(now) {
			return netip.Addr{}, ErrTaken
		}
		return a, nil
	}
	for _, r := range ranges {
		if r.Contains(want) && p.free(want, now) && (known || r.admits()) {
			return want, nil
		}
	}
	for _, r := range ranges {
		if !known && !r.admits() {
			continue
		}
		if a := p.unused(r); a.IsValid() {
			return a, nil
		}
	}
	for _, r := range ranges {
		if a := p.ended(r, known, now); a.IsValid() {
			return a, nil
		}
	}
	return netip.Addr{}, ErrExhausted
}

// admits reports whether one more stranger may have an address of the range.
func (r *rangeState) admits() bool {
	return r.strangers < max(1, r.total-r.total/4) && r.offered < max(4, r.total/4)
}

func (p *Pool) reservation(client string, subnet netip.Prefix) netip.Addr {
	for _, a := range p.cfg.Reserved[client] {
		if subnet.Contains(a) {
			return a
		}
	}
	return netip.Addr{}
}

// free reports whether nobody has an address, or nobody any longer.
func (p *Pool) free(a netip.Addr, now time.Time) bool {
	if _, reserved := p.reserved[a]; reserved {
		return false
	}
	l := p.byAddr[a]
	return l == nil || !l.Known && !l.Expires.After(now)
}

// unused is an address that nobody has: one that was given up, else the lowest that nobody had so far.
func (p *Pool) unused(r *rangeState) netip.Addr {
	for n := len(r.free) - 1; n >= 0; n-- {
		a := r.free[n]
		if p.unclaimed(a) {
			return a
		}
		delete(r.listed, a)
		r.free = r.free[:n]
	}
	for a := r.next; a.IsValid() && r.Contains(a) && r.held < r.total; a = a.Next() {
		r.next = a
		if p.unclaimed(a) {
			return a
		}
	}
	return netip.Addr{}
}

func (p *Pool) unclaimed(a netip.Addr) bool {
	_, reserved := p.reserved[a]
	return !reserved && p.byAddr[a] == nil
}

// ended is the address whose lease ended first, of strangers before known machines. A stranger takes the place of another one, never of a known machine, and that of
// a conflict where strangers may have one more.
func (p *Pool) ended(r *rangeState, known bool, now time.Time) netip.Addr {
	for of, may := range [kinds]bool{ofConflict: known || r.admits(), ofStranger: true, ofKnown: known} {
		if l := r.ending[of].first(); may && l != nil && !l.Expires.After(now) {
			return l.Addr
		}
	}
	return netip.Addr{}
}
