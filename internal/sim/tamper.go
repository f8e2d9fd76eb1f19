package sim

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// tamper returns what an answer is written to: w itself, or where a fault wants
// to spoil the body, a buffer that finish spoils.
func (b *bmc) tamper(w http.ResponseWriter, r *http.Request) (out http.ResponseWriter, finish func()) {
	if !b.rack.faults.Any(b.index) {
		return w, func() {}
	}
	for _, kind := range []fault.Kind{fault.HangBody, fault.TruncatedJSON, fault.WrongJSON} {
		if s, ok := b.struck(kind, r.URL.Path); ok {
			t := &tampered{header: w.Header(), status: http.StatusOK}
			return t, func() { b.spoil(w, r, t, kind, s.Value.Text) }
		}
	}
	return w, func() {}
}

// tampered is an answer that is not sent yet.
type tampered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (t *tampered) Header() http.Header         { return t.header }
func (t *tampered) WriteHeader(status int)      { t.status = status }
func (t *tampered) Write(p []byte) (int, error) { return t.body.Write(p) }

func (b *bmc) spoil(w http.ResponseWriter, r *http.Request, t *tampered, kind fault.Kind, how string) {
	body := t.body.Bytes()
	if t.status/100 != 2 || len(body) == 0 {
		w.WriteHeader(t.status)
		_, _ = w.Write(body)
		return
	}
	whole := len(body)
	if kind == fault.WrongJSON {
		body = wrong(body, how, t.header)
		whole = len(body)
	} else {
		body = body[:whole/2]
	}
	if kind == fault.TruncatedJSON {
		whole = len(body)
	}
	t.header.Set("Content-Length", strconv.Itoa(whole))
	w.WriteHeader(t.status)
	_, _ = w.Write(body)
	if kind != fault.HangBody {
		return
	}
	_ = http.NewResponseController(w).Flush()
	b.hang(r)
	drop(w)
}

func wrong(body []byte, how string, h http.Header) []byte {
	switch how {
	case "html":
		h.Set("Content-Type", "text/html;charset=utf-8")
		return []byte("<!DOCTYPE html><title>Loading</title><p>The web server is starting.\n")
	case "types":
		var value any
		if err := json.Unmarshal(body, &value); err != nil {
			return []byte("7")
		}
		out, err := json.Marshal(otherTypes(value))
		if err != nil {
			return []byte("7")
		}
		return out
	default:
		return []byte("[\"this is not the resource that was asked for\"]\n")
	}
}

// otherTypes keeps names and the shape, and nothing else.
func otherTypes(value any) any {
	switch v := value.(type) {
	case object:
		out := object{}
		for name, member := range v {
			out[name] = otherTypes(member)
		}
		return out
	case []any:
		if len(v) == 0 {
			return object{}
		}
		out := slices.Clone(v)
		for i := range out {
			out[i] = otherTypes(out[i])
		}
		return out
	case string:
		return len(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return "perhaps"
	default:
		return []any{}
	}
}

// resetConn closes a connection so that the other end sees a reset.
func resetConn(conn net.Conn) {
	inner := conn
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		inner = secure.NetConn()
	}
	if tcp, ok := inner.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = inner.Close()
	_ = conn.Close()
}
