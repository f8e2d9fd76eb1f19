package sim

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/sim/fault"
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
// many goroutines at once. It is for tests that need to see requests; everything
// else has a name in package fault.
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

// InjectFault makes BMCs misbehave, until ClearFault. Each of them puts an alert before
// its subscribers, and a line into its log.
func (r *Rack) InjectFault(s fault.Spec) (fault.Entry, error) {
	e, err := r.setFault(s)
	if err != nil {
		return e, err
	}
	r.alert(e, "Warning", "ResourceEvent.1.3.ResourceErrorsDetected", "The resource property Status has detected errors of type '%s'.")
	return e, nil
}

func (r *Rack) setFault(s fault.Spec) (fault.Entry, error) {
	if s.Kind == fault.TLSFailure && r.opts.Scheme != "https" {
		return fault.Entry{}, &fault.FieldError{Field: "kind", Err: fmt.Errorf("%s: the rack speaks %s", s.Kind, r.opts.Scheme)}
	}
	return r.faults.Set(s)
}

// ClearFault ends a fault that InjectFault began.
func (r *Rack) ClearFault(id string) error {
	e, ok := r.faults.Clear(id)
	if !ok {
		return fmt.Errorf("fault %q: there is none", id)
	}
	r.alert(e, "OK", "ResourceEvent.1.3.ResourceErrorsCorrected", "The resource property Status has corrected errors of type '%s'.")
	return nil
}

// Faults lists what was injected and not cleared, oldest first.
func (r *Rack) Faults() []fault.Entry { return r.faults.List() }

func (r *Rack) alert(e fault.Entry, severity, messageID, text string) {
	text = fmt.Sprintf(text, e.Kind)
	for _, n := range e.Struck {
		b := r.bmcs[n-1]
		b.log.add(b.now(), severity, messageID, text)
		b.emit(happening{"Alert", severity, messageID, text, b.managerURI()})
	}
}

// late waits as long as an answer takes. It is false when nobody waits any more.
func (b *bmc) late(r *http.Request) bool {
	takes := b.rack.opts.Timing.Latency
	if s, ok := b.struck(fault.Latency, r.URL.Path); ok {
		takes += s.Value.Duration
	}
	return b.rack.wait(r.Context(), takes)
}

// strike lets the faults of a BMC have their way with a request before anything looks at it.
// It is true when the request was answered, or will never be.
func (b *bmc) strike(w http.ResponseWriter, r *http.Request) bool {
	b.mu.Lock()
	hook := b.fault
	b.mu.Unlock()
	effect := EffectNone
	if hook != nil {
		effect = hook.Effect(r)
	}
	if effect == EffectNone && b.rack.faults.Any(b.index) {
		var f *failure
		if effect, f = b.named(w.Header(), r); f != nil {
			b.fail(w, f)
			return true
		}
	}
	switch effect {
	case EffectRefuse:
		b.refuse(w, errUnauthorized)
	case EffectHang:
		b.hang(r)
		drop(w)
	case EffectDrop:
		drop(w)
	default:
		return false
	}
	return true
}

func (b *bmc) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-b.rack.ctx.Done():
	}
}

// named finds the named fault that takes a request, the roughest first.
func (b *bmc) named(h http.Header, r *http.Request) (Effect, *failure) {
	uri := r.URL.Path
	for _, rough := range []struct {
		kind   fault.Kind
		effect Effect
	}{{fault.Reset, EffectDrop}, {fault.Hang, EffectHang}} {
		if _, ok := b.struck(rough.kind, uri); ok {
			return rough.effect, nil
		}
	}
	for _, busy := range []struct {
		kind fault.Kind
		f    *failure
	}{{fault.Unavailable, errUnavailable}, {fault.TooManyRequests, errTooMany}} {
		if s, ok := b.struck(busy.kind, uri); ok {
			h.Set("Retry-After", strconv.Itoa(s.Value.Count))
			return EffectNone, busy.f
		}
	}
	if _, ok := b.struck(fault.ServerError, uri); ok {
		return EffectNone, errInternal
	}
	if _, ok := b.struck(fault.MemberError, path.Dir(uri)); ok && path.Base(uri) == faultyMember {
		return EffectNone, errInternal
	}
	if _, ok := b.struck(fault.Unauthorized, uri); ok {
		if effect := RefusePassword.Effect(r); effect != EffectNone {
			return effect, nil
		}
	}
	if _, ok := b.struck(fault.Forbidden, uri); ok {
		return EffectNone, errPrivilege
	}
	if s, ok := b.struck(fault.NoSessions, ""); ok && strings.HasPrefix(uri, sessionServiceURI) {
		if _, _, basic := r.BasicAuth(); s.Value.Text == "401" && !basic {
			return EffectRefuse, nil
		}
		return EffectNone, errNotFound(uri)
	}
	if _, ok := b.struck(fault.SessionsRefused, ""); ok && uri == sessionsURI && r.Method == http.MethodPost {
		return EffectRefuse, nil
	}
	return EffectNone, nil
}

// drop resets the connection of a request: a pending answer is thrown away with
// it.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	resetConn(conn)
}
