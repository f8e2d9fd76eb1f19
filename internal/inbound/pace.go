package inbound

import (
	"net"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
)

// longestTurn is how long a TLS handshake waits for its turn. Servers and clients give a handshake ten seconds.
const longestTurn = 3 * time.Second

// Pace is how many TLS handshakes a second there are with one address. A handshake costs the server milliseconds of a processor and
// the client hardly anything, and nobody has said yet who he is.
type Pace struct {
	// PerSecond is zero where there is no limit.
	PerSecond int
	// Burst is how many there may be at once.
	Burst int
}

// TLSListener is Listener for connections that begin with a TLS handshake, which it is put under: those that come too fast from
// one address wait for their turn, and those that would wait too long are closed.
func (b *Budget) TLSListener(l net.Listener, p Pace) net.Listener {
	if p.PerSecond <= 0 {
		return b.Listener(l)
	}
	return b.Listener(&pacedListener{Listener: l, budget: b, limiter: ratelimit.New(p.PerSecond, p.Burst, b.clock)})
}

type pacedListener struct {
	net.Listener
	budget  *Budget
	limiter *ratelimit.Limiter
}

// Accept implements net.Listener. It does not wait for the turns of those it returns.
func (l *pacedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address := ratelimit.HostOf(addressOf(conn))
		wait, ok := l.limiter.Reserve(address, longestTurn)
		if ok {
			return &pacedConn{Conn: conn, clock: l.budget.clock, wait: wait, closed: make(chan struct{})}, nil
		}
		_ = conn.Close()
		l.budget.counts[refusedPace].Add(1)
		l.budget.notice.tell(l.budget.name, address, refusedPace, l.budget.heldBy(address), l.budget.limits)
	}
}

// pacedConn gives nothing to read before its turn.
type pacedConn struct {
	net.Conn
	clock  clock.Clock
	wait   time.Duration
	turn   sync.Once
	shut   sync.Once
	closed chan struct{}
}

// NetConn returns what is under it, as tls.Conn does.
func (c *pacedConn) NetConn() net.Conn { return c.Conn }

// Read implements net.Conn. A deadline that passes before the turn has come fails what is read then.
func (c *pacedConn) Read(p []byte) (int, error) {
	if c.wait > 0 {
		c.turn.Do(c.await)
	}
	return c.Conn.Read(p)
}

func (c *pacedConn) await() {
	timer := c.clock.NewTimer(c.wait)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-c.closed:
	}
}

// Close implements net.Conn, and ends the waiting.
func (c *pacedConn) Close() error {
	c.shut.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
