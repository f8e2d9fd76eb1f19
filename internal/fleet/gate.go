package fleet

import (
	"container/list"
	"sync"
)

// gate lets a limited number in at a time, in the order of arrival.
type gate struct {
	mu      sync.Mutex
	limit   int
	in      int
	waiting list.List // of *place
}

// place is somebody's place at a gate: in the line before it, or inside.
type place struct {
	admitted chan struct{} // closed by the gate
	line     *list.Element // nil: admitted
}

// join takes the last place in line, or one inside if there is room.
func (g *gate) join() *place {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &place{admitted: make(chan struct{})}
	p.line = g.waiting.PushBack(p)
	g.admitLocked()
	return p
}

// leave gives up a place, in line or inside.
func (g *gate) leave(p *place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.line != nil {
		g.waiting.Remove(p.line)
		return
	}
	g.in--
	g.admitLocked()
}

// resizeLocked changes the limit. Those who are in stay in.
func (g *gate) resizeLocked(limit int) {
	g.limit = limit
	g.admitLocked()
}

// admitLocked admits those who have waited longest, as many as there is room for.
func (g *gate) admitLocked() {
	for first := g.waiting.Front(); first != nil && g.in < g.limit; first = g.waiting.Front() {
		p := g.waiting.Remove(first).(*place)
		p.line = nil
		g.in++
		close(p.admitted)
	}
}
