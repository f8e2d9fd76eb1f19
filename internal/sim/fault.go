package sim

import (
	"net/http"
)

// Effect is what becomes of a request in place of its answer.
type Effect int

// The effects.
const (
	EffectNone   Effect = iota
	EffectRefuse        // 401, whatever the credentials are
	EffectHang          // accepted and never answered
	EffectDrop          // the connection is reset
)

// Fault decides about each request to a BMC that it is set on. It is called from
// many goroutines at once.
type Fault interface {
	Effect(r *http.Request) Effect
}

// FaultFunc is a Fault that is a function.
type FaultFunc func(r *http.Request) Effect

// Effect calls f.
func (f FaultFunc) Effect(r *http.Request) Effect { return f(r) }

// The simplest faults.
var (
	// RefusePassword leaves open what needs no password.
	RefusePassword Fault = FaultFunc(func(r *http.Request) Effect {
		if r.Method == http.MethodGet && isOpen(r.URL.Path) {
			return EffectNone
		}
		return EffectRefuse
	})
	Hang Fault = constant(EffectHang)
	Drop Fault = constant(EffectDrop)
)

type constant Effect

func (c constant) Effect(*http.Request) Effect { return Effect(c) }

// strike lets the fault of a BMC have its way with a request. It is true when
// the request was answered, or will never be.
func (b *bmc) strike(w http.ResponseWriter, r *http.Request) bool {
	b.mu.Lock()
	fault := b.fault
	b.mu.Unlock()
	if fault == nil {
		return false
	}
	switch fault.Effect(r) {
	case EffectRefuse:
		b.refuse(w, errUnauthorized)
	case EffectHang:
		select {
		case <-r.Context().Done():
		case <-b.rack.ctx.Done():
		}
		drop(w)
	case EffectDrop:
		drop(w)
	default:
		return false
	}
	return true
}

// drop resets the connection of a request: a pending answer is thrown away with
// it.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
