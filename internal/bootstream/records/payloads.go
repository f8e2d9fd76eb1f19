package records

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"weak"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// payloads has each ignition payload once, as long as some machine has it: it keeps none alive.
type payloads struct {
	mu sync.Mutex
	by map[payloadKey]weak.Pointer[bootview.Ignition]
}

type payloadKey struct {
	contentType string
	sum         [sha256.Size]byte
}

// share returns the one ignition of a payload.
func (p *payloads) share(payload []byte, contentType string) *bootview.Ignition {
	key := payloadKey{contentType, sha256.Sum256(payload)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.by[key].Value(); known != nil {
		return known
	}
	i := &bootview.Ignition{Payload: payload, ContentType: contentType}
	if p.by == nil {
		p.by = map[payloadKey]weak.Pointer[bootview.Ignition]{}
	}
	pointer := weak.Make(i)
	p.by[key] = pointer
	runtime.AddCleanup(i, func(key payloadKey) { p.forget(key, pointer) }, key)
	return i
}

// forget removes a payload that nobody has any longer, unless somebody else has come with it meanwhile.
func (p *payloads) forget(key payloadKey, pointer weak.Pointer[bootview.Ignition]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by[key] == pointer {
		delete(p.by, key)
	}
}

func (p *payloads) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.by)
}
