package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
)

const (
	roleFlood = "flood"
	// floodAddress is where the flood comes from, machineAddress where the machine asks from that is measured.
	floodAddress   = "127.0.0.66"
	machineAddress = "127.0.0.99"
	// lowest is the priority of the flood's process: it takes what nobody else wants.
	lowest = 19
	// patience is how long a flood waits for an answer before it opens another connection.
	patience = 10 * time.Second
	// dripping is how often a slow header goes on.
	dripping = time.Second
)

type floodRequest struct {
	Target   target
	Duration time.Duration
	Share    float64
}

type floodAnswer struct {
	// Connections were opened, Answers came, of which Limited were 429: too many from one address.
	Connections, Answers, Limited int64
	// Refused is why the first connection was not opened that was not.
	Refused string
	CPU     time.Duration
}

// serveFlood is the flood's side.
func serveFlood(ctx context.Context) error {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowest); err != nil {
		return fmt.Errorf("priority: %w", err)
	}
	return child.Serve(func(r floodRequest) (floodAnswer, error) {
		ctx, cancel := context.WithTimeout(ctx, r.Duration)
		defer cancel()
		f := &flooding{target: r.Target, pace: newPace(r.Share)}
		var workers sync.WaitGroup
		for i := range f.Connections {
			workers.Go(func() { f.work(ctx, rand.New(rand.NewPCG(1, uint64(i)))) })
		}
		workers.Wait()
		a := floodAnswer{Connections: f.opened.Load(), Answers: f.answers.Load(), Limited: f.limited.Load(), CPU: f.pace.used()}
		if refused := f.refused.Load(); refused != nil {
			a.Refused = (*refused).Error()
		}
		return a, nil
	})
}

type flooding struct {
	target
	pace *pace

	opened, answers, limited atomic.Int64
	refused                  atomic.Pointer[error]
}

// work opens one connection after the other until the flood is over.
func (f *flooding) work(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		f.pace.wait(ctx)
		conn, err := f.open(ctx)
		if err != nil {
			f.refused.CompareAndSwap(nil, &err)
			f.sleep(ctx, 100*time.Millisecond)
			continue
		}
		f.opened.Add(1)
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		f.talk(ctx, conn, random)
		stop()
		_ = conn.Close()
	}
}

func (f *flooding) open(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(floodAddress)}, Timeout: patience}
	conn, err := dialer.DialContext(ctx, "tcp", f.Address)
	if err != nil || !f.TLS {
		return conn, err
	}
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, SessionTicketsDisabled: true})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// talk does with a connection what the flood is about, until the other side has had enough of it.
func (f *flooding) talk(ctx context.Context, conn net.Conn, random *rand.Rand) {
	switch f.Kind {
	case handshakes:
	case idle:
		if _, err := io.WriteString(conn, f.request(random)); err == nil {
			_, _ = io.Copy(io.Discard, conn)
		}
	case slowHeader:
		_, err := io.WriteString(conn, "GET /ipxe HTTP/1.1\r\nHost: "+f.Address+"\r\nX-Slow: ")
		for err == nil && ctx.Err() == nil {
			f.sleep(ctx, dripping)
			_, err = io.WriteString(conn, "x")
		}
	default:
		f.ask(ctx, conn, random)
	}
}

// ask sends one request after the other, without waiting for more than their answers.
func (f *flooding) ask(ctx context.Context, conn net.Conn, random *rand.Rand) {
	in := bufio.NewReader(conn)
	for ctx.Err() == nil {
		f.pace.wait(ctx)
		_ = conn.SetDeadline(time.Now().Add(patience))
		// A server may answer and hang up before it has read a body; its answer counts all the same.
		_, sent := io.WriteString(conn, f.request(random))
		response, err := http.ReadResponse(in, nil) //nolint:bodyclose // it is read to its end, and the connection is ours
		if err != nil {
			return
		}
		f.answers.Add(1)
		if response.StatusCode == http.StatusTooManyRequests {
			f.limited.Add(1)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil || sent != nil || response.Close {
			return
		}
	}
}

func (*flooding) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// pace keeps this process to a share of a processor.
type pace struct {
	share      float64
	began      time.Time
	usedBefore time.Duration
	// turn lets one at a time look at what is used: thousands that look would use all of the share themselves.
	turn sync.Mutex
}

func newPace(share float64) *pace {
	return &pace{share: share, began: time.Now(), usedBefore: ownCPU()}
}

// used is the processor time since the pace began.
func (p *pace) used() time.Duration { return ownCPU() - p.usedBefore }

// wait returns when this process has used no more than its share so far.
func (p *pace) wait(ctx context.Context) {
	p.turn.Lock()
	defer p.turn.Unlock()
	for ctx.Err() == nil {
		ahead := time.Duration(float64(p.used())/p.share) - time.Since(p.began)
		if ahead <= 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(ahead, 50*time.Millisecond)):
		}
	}
}

// ownCPU is the processor time of this process.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0 // it cannot fail for this process (getrusage(2))
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
