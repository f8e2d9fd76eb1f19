package lease

import (
	"container/heap"
	"net/netip"
	"slices"
)

// rangeState is how far a range is given out. Whatever strangers ask for, finding an address takes no longer the more of them are taken.
type rangeState struct {
	Range
	total int
	// next is the lowest address that nobody had yet; free are those below it that somebody had, and listed is free as a set.
	next   netip.Addr
	free   []netip.Addr
	listed map[netip.Addr]bool
	// strangers and offered count the leases of strangers, and those of them that were not taken.
	strangers, offered int
	// held counts the addresses that somebody has or had.
	held int
	// ending has the leases in the order in which they end.
	ending [kinds]expiries
}

// kind is whose a lease is, for those who need an address that somebody had.
type kind uint8

const (
	ofConflict kind = iota
	ofStranger
	ofKnown
	kinds
)

func newRangeState(r Range) *rangeState {
	return &rangeState{Range: r, total: r.size(), next: r.First, listed: map[netip.Addr]bool{}}
}

// kindOf says whose a lease is.
func kindOf(l *Lease) kind {
	switch {
	case l.Client != "" && l.Known:
		return ofKnown
	case l.Client != "" || l.Stranger:
		return ofStranger
	}
	return ofConflict
}

// place is where a lease is among those of its kind: its index there, and one more, so that zero is nowhere.
type place struct {
	of *expiries
	at int
}

// expiries are leases, the one that ends first at the front. It is a heap.
type expiries []*Lease

func (e expiries) Len() int           { return len(e) }
func (e expiries) Less(i, j int) bool { return e[i].Expires.Before(e[j].Expires) }

func (e expiries) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].place.at, e[j].place.at = i+1, j+1
}

// Push implements heap.Interface.
func (e *expiries) Push(x any) {
	l, _ := x.(*Lease)
	*e = append(*e, l)
	l.place = place{e, len(*e)}
}

// Pop implements heap.Interface.
func (e *expiries) Pop() any {
	last := len(*e) - 1
	l := (*e)[last]
	(*e)[last] = nil
	*e = (*e)[:last]
	l.place = place{}
	return l
}

func (e expiries) first() *Lease {
	if len(e) == 0 {
		return nil
	}
	return e[0]
}

func (p *Pool) rangeFor(a netip.Addr) *rangeState {
	for _, r := range p.ranges {
		if r.Contains(a) {
			return r
		}
	}
	return nil
}

func (p *Pool) keep(l *Lease) {
	p.byAddr[l.Addr] = l
	if r := p.rangeFor(l.Addr); r != nil {
		r.held++
	}
	if l.Client != "" {
		p.byClient[l.Client] = append(p.byClient[l.Client], l)
	}
	if l.by != "" {
		p.declined[l.by] = append(p.declined[l.by], l)
	}
	p.count(l)
}

// forget drops a lease, and has its address given to others.
func (p *Pool) forget(l *Lease) {
	p.drop(l)
	if r := p.rangeFor(l.Addr); r != nil && l.Addr.Less(r.next) && !r.listed[l.Addr] {
		r.free, r.listed[l.Addr] = append(r.free, l.Addr), true
	}
}

// drop removes a lease whose address is another's at once.
func (p *Pool) drop(l *Lease) {
	p.uncount(l)
	delete(p.byAddr, l.Addr)
	if r := p.rangeFor(l.Addr); r != nil {
		r.held--
	}
	without(p.byClient, l.Client, l)
	without(p.declined, l.by, l)
}

// without removes a lease from those of a client.
func without(by map[string][]*Lease, client string, l *Lease) {
	rest := slices.DeleteFunc(by[client], func(o *Lease) bool { return o == l })
	if len(rest) == 0 {
		delete(by, client)
		return
	}
	by[client] = rest
}

// count and uncount are before and after each change of a lease.
func (p *Pool) count(l *Lease) {
	r := p.rangeFor(l.Addr)
	if r == nil {
		return
	}
	r.tally(l, 1)
	if _, reserved := p.reserved[l.Addr]; !reserved {
		heap.Push(&r.ending[kindOf(l)], l)
	}
}

func (p *Pool) uncount(l *Lease) {
	r := p.rangeFor(l.Addr)
	if r == nil {
		return
	}
	r.tally(l, -1)
	if l.place.of != nil {
		heap.Remove(l.place.of, l.place.at-1)
	}
}

func (r *rangeState) tally(l *Lease, n int) {
	if kindOf(l) != ofStranger {
		return
	}
	r.strangers += n
	if !l.Bound {
		r.offered += n
	}
}
