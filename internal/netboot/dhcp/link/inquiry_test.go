package link

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// wire stands for a socket: what is asked goes to sent, and answers come from heard.
type wire struct {
	sent   chan netip.Addr
	heard  chan string // MAC addresses, of whoever has had
	had    netip.Addr
	broken error
	closed chan struct{}
}

func newWire(had netip.Addr) *wire {
	return &wire{sent: make(chan netip.Addr, 1<<10), heard: make(chan string), had: had, closed: make(chan struct{})}
}

func (w *wire) send(a netip.Addr) error { w.sent <- a; return w.broken }

func (w *wire) receive() (netip.Addr, string, error) {
	select {
	case who, open := <-w.heard:
		if !open {
			return netip.Addr{}, "", errDown
		}
		return w.had, who, nil
	case <-w.closed:
		return netip.Addr{}, "", context.Canceled
	}
}

func (w *wire) Close() error { close(w.closed); return nil }

var (
	errDown      = errors.New("network is down")
	probed, free = netip.MustParseAddr("192.0.2.10"), netip.MustParseAddr("192.0.2.11")
)

func TestAnInquiryHearsWhoHasAnAddress(t *testing.T) {
	for name, c := range map[string]struct {
		ask  netip.Addr
		who  string
		want bool
	}{
		"somebody":        {probed, "02:00:00:00:00:09", true},
		"the client":      {probed, "02:00:00:00:00:01", false},
		"another address": {free, "02:00:00:00:00:09", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWire(probed)
				i := inquiry{open: func() (socket, error) { return w, nil }}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				go func() { w.heard <- c.who }()
				if got, err := i.ask(ctx, c.ask, "02:00:00:00:00:01"); got != c.want || err != nil {
					t.Errorf("in use: %v, %v", got, err)
				}
				<-w.closed
			})
		})
	}
}

// TestManyQuestionsHaveOneSocket: a rack that is switched on has hundreds of addresses asked for at a time.
func TestManyQuestionsHaveOneSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened, used atomic.Int32
		w := newWire(probed)
		i := inquiry{open: func() (socket, error) { opened.Add(1); return w, nil }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		const questions = 500
		for n := range questions {
			go func() {
				a := netip.AddrFrom4([4]byte{192, 0, byte(2 + n/256), byte(n)})
				if in, err := i.ask(ctx, a); in != (a == probed) || err != nil {
					t.Errorf("%s in use: %v, %v", a, in, err)
				}
				used.Add(1)
			}()
		}
		synctest.Wait()
		w.heard <- "02:00:00:00:00:09"
		synctest.Wait()
		if opened.Load() != 1 || len(w.sent) != questions || used.Load() != 1 {
			t.Errorf("%d sockets, %d questions, %d answered", opened.Load(), len(w.sent), used.Load())
		}
		<-ctx.Done()
		synctest.Wait()
		if used.Load() != questions || i.asked != nil {
			t.Errorf("%d of %d have ended; the socket %v remains", used.Load(), questions, i.asked)
		}
	})
}

// TestALinkThatGoesDown: whoever asks hears of it, and the next question has another socket.
func TestALinkThatGoesDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, third := newWire(probed), newWire(probed), newWire(probed)
		sockets := make(chan *wire, 3)
		for _, w := range []*wire{first, second, third} {
			sockets <- w
		}
		i := inquiry{open: func() (socket, error) { return <-sockets, nil }}
		close(first.heard)
		if _, err := i.ask(t.Context(), probed); !errors.Is(err, errDown) {
			t.Errorf("while it goes down: %v", err)
		}
		second.broken = errDown
		if _, err := i.ask(t.Context(), probed); !errors.Is(err, errDown) {
			t.Errorf("while it is down: %v", err)
		}
		go func() { third.heard <- "02:00:00:00:00:09" }()
		if in, err := i.ask(t.Context(), probed); !in || err != nil {
			t.Errorf("once it is up: %v, %v", in, err)
		}
		<-first.closed
		<-second.closed
		i.open = func() (socket, error) { return nil, errDown }
		if _, err := i.ask(t.Context(), probed); !errors.Is(err, errDown) {
			t.Errorf("without a socket: %v", err)
		}
	})
}
