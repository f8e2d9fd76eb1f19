package bootserver

import (
	"crypto/sha256"
	"sync"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

// maxHeard is how many tokens are remembered: the machines that report within the time in which an
// agent asks again.
const maxHeard = 4096

// heard remembers whose reports were stored. An agent that did not hear its answer asks again, and by then its
// attempt may have been closed by that very report: it is told again that all is well, and no more. Only hashes
// of tokens are kept. The zero value is ready.
type heard struct {
	mu sync.Mutex
	by bounded.Map[[sha256.Size]byte, sender]
}

func (h *heard) remember(token string, from sender) {
	key := sha256.Sum256([]byte(token))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.by.Put(key, from, maxHeard)
}

func (h *heard) of(token string) (sender, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.by.Get(sha256.Sum256([]byte(token)))
}
