package registry

import (
	"container/heap"
	"time"
)

// dueQueue holds entries by the time they are due.
type dueQueue struct{ heap entryHeap }

func (q *dueQueue) add(e *entry, at time.Time) {
	e.at = at
	if e.index >= 0 {
		heap.Fix(&q.heap, e.index)
		return
	}
	heap.Push(&q.heap, e)
}

func (q *dueQueue) remove(e *entry) {
	if e.index >= 0 {
		heap.Remove(&q.heap, e.index)
	}
}

// take removes and returns the first entry that is due. Without one it tells
// how long to wait, zero meaning until an entry is added.
func (q *dueQueue) take(now time.Time) (*entry, time.Duration) {
	if len(q.heap) == 0 {
		return nil, 0
	}
	if wait := q.heap[0].at.Sub(now); wait > 0 {
		return nil, wait
	}
	return heap.Pop(&q.heap).(*entry), 0
}

// entryHeap implements heap.Interface.
type entryHeap []*entry

func (h entryHeap) Len() int           { return len(h) }
func (h entryHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h entryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *entryHeap) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *entryHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	e.index = -1
	return e
}
