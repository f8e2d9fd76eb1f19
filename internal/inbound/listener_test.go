package inbound

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

func budget(limits Limits) *Budget {
	return New("machines", limits, clock.RealClock{}, logr.Discard())
}

// connect opens a connection that is closed with the test and does not hang it.
func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

// isClosed waits until the other side has closed a connection.
func isClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, conn)
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		t.Error("the connection was not closed")
	}
}

// TestServersSayWhatWaits: a connection on which a request is answered stays, whatever else its address opens, over TLS too.
func TestServersSayWhatWaits(t *testing.T) {
	for name, overTLS := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			goOn, begun := make(chan struct{}), make(chan struct{}, 1)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				begun <- struct{}{}
				<-goOn
				w.WriteHeader(http.StatusTeapot)
			}))
			s.Listener = budget(Limits{Total: 10, PerAddress: 2, Waiting: 9}).Listener(s.Listener)
			Prepare(s.Config)
			if overTLS {
				s.StartTLS()
			} else {
				s.Start()
			}
			defer s.Close()
			address := s.Listener.Addr().String()
			asking := connect(t, address)
			if overTLS {
				asking = tls.Client(asking, &tls.Config{InsecureSkipVerify: true})
			}
			if _, err := io.WriteString(asking, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			<-begun
			first := connect(t, address)
			connect(t, address)
			isClosed(t, first) // and not the one that asked
			close(goOn)
			resp, err := http.ReadResponse(bufio.NewReader(asking), nil)
			if err != nil || resp.StatusCode != http.StatusTeapot {
				t.Errorf("%v, %v", resp, err)
			}
		})
	}
}

// TestFilesAreSentByTheKernel: a counted connection still has what net/http sends files with.
func TestFilesAreSentByTheKernel(t *testing.T) {
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := budget(Limits{Total: 10, PerAddress: 2, Waiting: 9}).Listener(inner)
	defer func() { _ = l.Close() }()
	connect(t, l.Addr().String())
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, ok := conn.(io.ReaderFrom); !ok {
		t.Error("no io.ReaderFrom")
	}
	if _, ok := conn.(interface{ CloseWrite() error }); !ok {
		t.Error("no CloseWrite")
	}
}

// scripted accepts what it is given.
type scripted struct {
	net.Listener
	accepts chan any // error or net.Conn
}

func (s scripted) Accept() (net.Conn, error) {
	switch next := (<-s.accepts).(type) {
	case error:
		return nil, next
	case net.Conn:
		return next, nil
	}
	return nil, net.ErrClosed
}

func (s scripted) Close() error { return nil }

// TestAcceptGoesOn: what the kernel says of one connection, or of the descriptors of the process, ends nothing.
func TestAcceptGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(Limits{Total: 10, PerAddress: 2, Waiting: 9})
		s := scripted{accepts: make(chan any, 10)}
		l := b.Listener(s)
		ours, theirs := net.Pipe()
		defer func() { _, _ = ours.Close(), theirs.Close() }()
		for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EPERM, syscall.EPROTO} {
			s.accepts <- &net.OpError{Op: "accept", Err: errno}
		}
		s.accepts <- ours
		begun := time.Now()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 63*firstPause { // doubled six times
			t.Errorf("tried again for %s", took)
		}
		if got := b.counts[failed].Load(); got != 6 {
			t.Errorf("%d failures counted", got)
		}
		_ = conn.Close()
		if b.held != 0 {
			t.Errorf("%d are held", b.held)
		}

		s.accepts <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
		ended := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		synctest.Wait()
		_, _ = l.Close(), l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestFullBudgetAtAListener: who is one too many is told so by the end of his connection, and others are let in.
func TestFullBudgetAtAListener(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b := budget(Limits{Total: 10, PerAddress: 1, Waiting: 9})
	s.Listener = b.Listener(s.Listener)
	Prepare(s.Config)
	s.Start()
	defer s.Close()
	var conns []net.Conn
	for range 5 {
		conns = append(conns, connect(t, s.Listener.Addr().String()))
	}
	for _, conn := range conns[:4] {
		isClosed(t, conn)
	}
	if _, err := io.WriteString(conns[4], "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := http.ReadResponse(bufio.NewReader(conns[4]), nil); err != nil {
		t.Error(err)
	}
}
