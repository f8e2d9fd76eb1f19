package bootstream

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// ill is what happens to a connection.
type ill uint8

const (
	// cut ends it.
	cut ill = iota + 1
	// swallow keeps it open at both ends while nothing comes through, as when somebody pulls a cable.
	swallow
	// trickle lets a byte a second through to the boot server.
	trickle
)

// fault befalls a connection when so many bytes have come through to the boot server.
type fault struct {
	ill   ill
	after int
}

// line is the network between a boot server and its manager: TCP over loopback.
type line struct {
	t        *testing.T
	address  string // for the boot server
	listener net.Listener
	done     sync.WaitGroup

	mu sync.Mutex
	to string // the manager
	// faults are those of the next connections, in order; behind them all are well.
	faults []fault
	open   map[*link]struct{}
	// total is what has come through to the boot server, in bytes.
	total int
}

// link is one connection.
type link struct {
	ends [2]net.Conn
	// mended is closed when the test has mended it.
	mended chan struct{}
	mend   func()
	// gone is closed with it.
	gone  chan struct{}
	close func()
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{t: t, address: listener.Addr().String(), listener: listener, to: to, open: map[*link]struct{}{}}
	l.done.Go(l.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		l.cut()
		l.done.Wait()
	})
	return l
}

func (l *line) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		to, f := l.to, fault{}
		if len(l.faults) > 0 {
			f, l.faults = l.faults[0], l.faults[1:]
		}
		l.mu.Unlock()
		far, err := net.Dial("tcp", to)
		if err != nil {
			_ = near.Close()
			continue
		}
		k := &link{ends: [2]net.Conn{near, far}, mended: make(chan struct{}), gone: make(chan struct{})}
		k.mend = sync.OnceFunc(func() { close(k.mended) })
		k.close = sync.OnceFunc(func() {
			close(k.gone)
			_ = errors.Join(near.Close(), far.Close())
		})
		l.mu.Lock()
		l.open[k] = struct{}{}
		l.mu.Unlock()
		swallowed := make(chan struct{})
		l.done.Go(func() { l.carry(k, f, swallowed) })
		l.done.Go(func() { l.back(k, swallowed) })
	}
}

// carry carries what the manager sends.
func (l *line) carry(k *link, f fault, swallowed chan<- struct{}) {
	buf := make([]byte, 16<<10)
	room := f.after
	for {
		n, err := k.ends[1].Read(buf)
		if err != nil {
			k.close()
			return
		}
		rest := buf[:n]
		if f.ill != 0 && n > room {
			l.pass(k, rest[:room])
			rest = rest[room:]
			switch f.ill {
			case cut:
				k.close()
				return
			case swallow:
				close(swallowed)
				<-k.gone
				return
			case trickle:
				rest = l.trickle(k, rest)
			}
			f.ill = 0
		}
		room -= n
		l.pass(k, rest)
	}
}

// trickle passes a byte a second until the link is mended, and returns what is left.
func (l *line) trickle(k *link, rest []byte) []byte {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-k.mended:
			return rest
		case <-k.gone:
			return nil
		case <-tick.C:
		}
		if len(rest) > 0 {
			l.pass(k, rest[:1])
			rest = rest[1:]
		}
	}
}

func (l *line) pass(k *link, b []byte) {
	if _, err := k.ends[0].Write(b); err != nil {
		k.close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total += len(b)
}

// back carries what the boot server sends.
func (l *line) back(k *link, swallowed <-chan struct{}) {
	buf := make([]byte, 16<<10)
	for {
		n, err := k.ends[0].Read(buf)
		select {
		case <-swallowed: // also the end, of which the manager learns nothing
			if err != nil {
				return
			}
			continue
		default:
		}
		if _, werr := k.ends[1].Write(buf[:n]); err != nil || werr != nil {
			k.close()
			return
		}
	}
}

// leads has the next connections lead to a manager, with these faults, and ends those that are open.
func (l *line) leads(to string, faults ...fault) {
	l.mu.Lock()
	l.to, l.faults = to, faults
	l.mu.Unlock()
	l.cut()
}

// struck reports whether every fault has befallen a connection.
func (l *line) struck() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.faults) == 0
}

// carried is what has come through to the boot server, in bytes.
func (l *line) carried() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

func (l *line) each(do func(*link)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range l.open {
		do(k)
	}
}

// cut ends all connections.
func (l *line) cut() { l.each(func(k *link) { k.close() }) }

// mend ends what slows connections down, those to come included.
func (l *line) mend() {
	l.mu.Lock()
	l.faults = nil
	l.mu.Unlock()
	l.each(func(k *link) { k.mend() })
}
