package bootserver

import (
	"crypto/sha256"
	"sync"
)

// maxHeard is how many tokens are remembered: the machines that report within the time in which an
// agent asks again.
const maxHeard = 4096

// heard remembers whose reports were stored. An agent that did not hear its answer asks again, and by then its
// attempt may have been closed by that very report: it is told again that all is well, and no more. Only hashes
// of tokens are kept. The zero value is ready.
type heard struct {
	mu    sync.Mutex
	by    map[[sha256.Size]byte]sender
	order [][sha256.Size]byte // the oldest is at next, when it is full
	next  int
}

func (h *heard) remember(token string, from sender) {
	key := sha256.Sum256([]byte(token))
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by = map[[sha256.Size]byte]sender{}
	}
	if _, known := h.by[key]; !known {
		if len(h.order) < maxHeard {
			h.order = append(h.order, key)
		} else {
			delete(h.by, h.order[h.next])
			h.order[h.next], h.next = key, (h.next+1)%maxHeard
		}
	}
	h.by[key] = from
}

func (h *heard) of(token string) (sender, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	from, ok := h.by[sha256.Sum256([]byte(token))]
	return from, ok
}
