package inbound

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
)

// TestHandshakesOfOneAddressAreInTurn: a second's worth is taken at once, more wait their turn, and who would wait too long is closed.
func TestHandshakesOfOneAddressAreInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burst, perSecond = 3, 10
		b := budget(Limits{Total: 100, PerAddress: 90, Waiting: 90})
		s := scripted{accepts: make(chan any, 100)}
		l := b.TLSListener(s, Pace{PerSecond: perSecond, Burst: burst})
		taken := burst + int(longestTurn.Seconds()*perSecond)
		for range taken + 2 {
			ours, theirs := net.Pipe()
			defer func() { _, _ = ours.Close(), theirs.Close() }()
			s.accepts <- ours
			go func() { _, _ = theirs.Write([]byte("hello")) }()
		}
		s.accepts <- net.ErrClosed
		began, read := time.Now(), make(chan time.Duration, taken)
		for accepted := 0; ; accepted++ {
			conn, err := l.Accept()
			if err != nil {
				if accepted != taken || b.counts[refusedPace].Load() != 2 {
					t.Errorf("%d are accepted and %d refused, want %d and 2", accepted, b.counts[refusedPace].Load(), taken)
				}
				break
			}
			go func() {
				if _, err := conn.Read(make([]byte, 5)); err != nil {
					t.Error(err)
				}
				read <- time.Since(began)
			}()
		}
		for i := range taken {
			if took, want := <-read, time.Duration(max(0, i-burst+1))*time.Second/perSecond; took != want {
				t.Errorf("number %d is read after %s, want %s", i, took, want)
			}
		}
	})
}

// TestNobodyWaitsForATurnOnAClosedConnection: neither closing it, nor the budget that takes it away, is held up.
func TestNobodyWaitsForATurnOnAClosedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(Limits{Total: 10, PerAddress: 1, Waiting: 9})
		l := &pacedListener{Listener: scripted{accepts: make(chan any, 3)}, budget: b, limiter: ratelimit.New(1, 1, b.clock)}
		under := b.Listener(l)
		defer func() { _ = under.Close() }()
		for range 3 {
			ours, theirs := net.Pipe()
			defer func() { _, _ = ours.Close(), theirs.Close() }()
			l.Listener.(scripted).accepts <- ours
		}
		begun := time.Now()
		ended := make(chan error, 3)
		for range 3 { // each takes the place of the one before
			conn, err := under.Accept()
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				_, err := conn.Read(make([]byte, 1))
				ended <- err
			}()
			synctest.Wait()
			defer func() { _ = conn.Close() }()
		}
		for range 2 {
			if err := <-ended; err == nil {
				t.Error("a closed connection could be read")
			}
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}
