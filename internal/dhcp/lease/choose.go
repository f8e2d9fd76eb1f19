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

// unused is the lowest address that nobody had so far.
func (p *Pool) unused(r *rangeState) netip.Addr {
	for a := r.next; a.IsValid() && r.Contains(a) && r.held < r.total; a = a.Next() {
		r.next = a
		if _, reserved := p.reserved[a]; !reserved && p.byAddr[a] == nil {
			return a
		}
	}
	return netip.Addr{}
}

// ended is the address whose lease ended first, of strangers before known machines. A stranger takes the place of another one, never of a known machine.
func (p *Pool) ended(r *rangeState, known bool, now time.Time) netip.Addr {
	if now.Before(r.fullUntil) {
		return netip.Addr{}
	}
	var best *Lease
	first := time.Time{}
	for _, l := range p.byAddr {
		if !r.Contains(l.Addr) {
			continue
		}
		if _, reserved := p.reserved[l.Addr]; reserved {
			continue
		}
		if first.IsZero() || l.Expires.Before(first) {
			first = l.Expires
		}
		if l.Expires.After(now) || l.Known && !known {
			continue
		}
		if best == nil || l.Known != best.Known && best.Known || l.Known == best.Known && l.Expires.Before(best.Expires) {
			best = l
		}
	}
	if best == nil {
		if first.After(now) {
			r.fullUntil = first
		}
		return netip.Addr{}
	}
	if !known && (best.Client == "" || best.Known) && !r.admits() {
		return netip.Addr{}
	}
	return best.Addr
}
