package bootstream

import (
	"cmp"
	"container/heap"

	"github.com/farrier-dev/farrier/internal/bootview/booturl"
)

// awaited are keys that somebody asked about before a boot server had acknowledged them. An acknowledgement costs as much as what it reaches,
// however many keys are awaited: in a boot storm that is every machine. Its zero value has none.
type awaited struct {
	by map[string]awaitedRecord
	// sites have the same by site, the lowest counter first. What by does not have any longer may be among them.
	sites map[string]*queue
	// steps counts what acknowledgements have looked at, for tests.
	steps int
}

// awaitedRecord is the record that was meant.
type awaitedRecord struct {
	counter uint64
	site    string
}

// add has a key awaited.
func (a *awaited) add(key string, r awaitedRecord) {
	if a.by == nil {
		a.by, a.sites = map[string]awaitedRecord{}, map[string]*queue{}
	}
	if a.by[key] == r {
		return
	}
	a.by[key] = r
	q := a.sites[r.site]
	if q == nil {
		q = &queue{}
		a.sites[r.site] = q
	}
	heap.Push(q, queued{r.counter, key})
	if len(*q) > 2*len(a.by)+queueSlack {
		a.compact(r.site, q)
	}
}

// queueSlack is how many keys of a queue may be awaited no longer beside those that are as many as the awaited.
const queueSlack = 64

// compact drops what is not awaited any longer.
func (a *awaited) compact(site string, q *queue) {
	live := (*q)[:0]
	for _, e := range *q {
		if a.by[e.key] == (awaitedRecord{e.counter, site}) {
			live = append(live, e)
		}
	}
	clear((*q)[len(live):])
	*q = live
	heap.Init(q)
}

// remove ends the wait for a key.
func (a *awaited) remove(key string) { delete(a.by, key) }

// reached are the keys that a boot server of a site has come to with a counter. They are not awaited any longer.
func (a *awaited) reached(site string, counter uint64) (keys []string) {
	for _, site := range []string{site, booturl.EverySite} {
		q := a.sites[site]
		for q != nil && len(*q) > 0 && (*q)[0].counter <= counter {
			a.steps++
			e := heap.Pop(q).(queued)
			if a.by[e.key] == (awaitedRecord{e.counter, site}) {
				delete(a.by, e.key)
				keys = append(keys, e.key)
			}
		}
		if q != nil && len(*q) == 0 {
			delete(a.sites, site)
		}
	}
	return keys
}

// queue is a heap of keys by their counters.
type queue []queued

type queued struct {
	counter uint64
	key     string
}

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return cmp.Less(q[i].counter, q[j].counter) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(e any)        { *q = append(*q, e.(queued)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = queued{}
	*q = (*q)[:last]
	return e
}
