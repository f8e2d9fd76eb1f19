package main

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/stats"
)

const (
	roleMachines = "machines"
	dhcpPort     = 67
	// patience is how long firmware waits for an answer before it asks again (PXE 2.1 §3.5.1).
	patience     = 4 * time.Second
	readyTimeout = time.Minute
	// receiveBuffer has room for the answers of half a second.
	receiveBuffer = 4 << 20
)

// serveMachines is the side of the machines, and of the relay that they are behind.
func serveMachines(ctx context.Context) error {
	if err := leaveNamespace(); err != nil {
		return err
	}
	var r *relay
	return child.Serve(func(q request) (a loadAnswer, err error) {
		switch {
		case q.Joined:
			r, err = join(ctx)
		case q.Await:
			err = r.await()
		case r == nil:
			a.Thread = unix.Gettid()
		default:
			a, err = r.counted(q)
		}
		return a, err
	})
}

// relay sends for all machines, and receives what they are answered.
type relay struct {
	conn *net.UDPConn

	mu sync.Mutex
	request
	id      uint32
	waiting map[uint32]waiting
	took    []time.Duration
	sent    [2]int // by strangers, by known machines
	told    int    // answers to strangers
	next    int    // of the known machines
}

// waiting is a request without an answer so far.
type waiting struct {
	machine
	known bool
	at    time.Time
}

func join(ctx context.Context) (*relay, error) {
	if err := link(ctx, "link set lo up", "addr add "+relayAddress+bits+" dev "+relayLink, "link set "+relayLink+" up"); err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(relayAddress), Port: dhcpPort})
	if err != nil {
		return nil, err
	}
	// The kernel may have a lower limit; dropped shows what that costs.
	if err := conn.SetReadBuffer(receiveBuffer); err != nil {
		return nil, err
	}
	r := &relay{conn: conn, waiting: map[uint32]waiting{}}
	go r.receive()
	return r, nil
}

// await asks for one machine until the product answers.
func (r *relay) await() error {
	for end := time.Now().Add(readyTimeout); time.Now().Before(end); {
		if a := r.ask(request{Port: dhcpPort, Known: 1, KnownRate: 10, Once: true, Duration: 100 * time.Millisecond}); a.Answered > 0 {
			return nil
		}
	}
	return errors.New("DHCP does not answer")
}

// counted asks, and counts what the kernel has thrown away meanwhile.
func (r *relay) counted(q request) (loadAnswer, error) {
	before, err := dropped(dhcpPort)
	if err != nil {
		return loadAnswer{}, err
	}
	a := r.ask(q)
	after, err := dropped(dhcpPort)
	a.Dropped = after - before
	return a, err
}

// ask has machines ask until the time is over, and their last requests had their time.
func (r *relay) ask(q request) loadAnswer {
	r.mu.Lock()
	r.request, r.took, r.sent, r.told, r.next = q, nil, [2]int{}, 0, 0
	clear(r.waiting)
	r.mu.Unlock()
	begun := time.Now()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for now := range ticker.C {
		if now.Sub(begun) >= q.Duration {
			break
		}
		r.catchUp(now.Sub(begun))
	}
	if r.Window == 0 {
		r.catchUp(q.Duration)
	}
	took := time.Since(begun)
	for end := time.Now().Add(patience); r.waits() && time.Now().Before(end); {
		<-ticker.C
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := loadAnswer{
		Asked: r.sent[1], Answered: len(r.took), Strangers: r.sent[0], Told: r.told, P50: stats.Median(r.took), P99: stats.Quantile(r.took, 0.99), Took: took,
	}
	a.Lost = a.Asked - a.Answered
	return a
}

// catchUp sends what is due by now.
func (r *relay) catchUp(since time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Window > 0 {
		for r.waitsLocked() < r.Window {
			r.discover(true)
		}
		return
	}
	due := func(rate int) int { return int(since.Seconds() * float64(rate)) }
	for strangers, known := due(r.Strangers), due(r.KnownRate); ; {
		more := false
		if r.sent[0] < strangers {
			r.discover(false)
			more = true
		}
		if r.sent[1] < known && !(r.Once && r.next >= r.Known) {
			r.discover(true)
			more = true
		}
		if !more {
			return
		}
	}
}

// discover asks for the next machine.
func (r *relay) discover(of bool) {
	var m machine
	switch {
	case of:
		m = known(r.next % r.Known)
		r.next++
	case r.As == loud:
		m = invented(0)
	default:
		m = invented(int(r.id))
	}
	r.send(m, of, discover, netip.Addr{})
}

// send sends a packet. What cannot be sent counts as lost.
func (r *relay) send(m machine, of bool, kind byte, at netip.Addr) {
	r.id++
	if kind != decline {
		r.waiting[r.id] = waiting{m, of, time.Now()}
	}
	r.sent[index(of)]++
	_, _ = r.conn.WriteToUDPAddrPort(m.packet(kind, r.id, at), netip.AddrPortFrom(netip.MustParseAddr(serverAddress), uint16(r.Port)))
}

func index(known bool) int {
	if known {
		return 1
	}
	return 0
}

// receive takes answers until the socket is closed.
func (r *relay) receive() {
	buf := make([]byte, 4<<10)
	for {
		n, err := r.conn.Read(buf)
		if err != nil {
			return
		}
		if n > kindAt {
			r.answer(binary.BigEndian.Uint32(buf[4:]), buf[:n])
		}
	}
}

// answer takes an answer, and goes on with what the machine does next.
func (r *relay) answer(id uint32, b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, asked := r.waiting[id]
	if !asked {
		return
	}
	delete(r.waiting, id)
	took := time.Since(w.at)
	switch {
	case took > patience:
		return // the machine has asked again
	case w.known:
		r.took = append(r.took, took)
	default:
		r.told++
	}
	if r.Window > 0 {
		r.discover(true)
		return
	}
	at, kind := netip.AddrFrom4([4]byte(b[16:20])), kindOf(b)
	switch {
	case r.Take && kind == offer:
		r.send(w.machine, w.known, take, at)
	case !w.known && r.As == decliner && kind == ack:
		r.send(w.machine, false, decline, at)
	}
}

// kindOf finds the type of a message.
func kindOf(b []byte) byte {
	for b = b[240:]; len(b) > 2 && b[0] != 255; {
		if b[0] == 53 {
			return b[2]
		}
		b = b[min(len(b), 2+int(b[1])):]
	}
	return 0
}

// waits reports whether a known machine waits for an answer.
func (r *relay) waits() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waitsLocked() > 0
}

func (r *relay) waitsLocked() (n int) {
	if r.Window > 0 || len(r.waiting) == 0 {
		return len(r.waiting)
	}
	for _, w := range r.waiting {
		if w.known {
			n++
		}
	}
	return n
}
