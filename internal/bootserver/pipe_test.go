package bootserver

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// pipes is a listener without a kernel behind it: nothing is buffered, and its deadlines keep the time of a bubble of
// testing/synctest.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.done)
	return nil
}

func (*pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "tcp" }
func (pipeAddr) String() string  { return stranger + ":1" }

// peer gives the server's end of a pipe an address.
type peer struct{ net.Conn }

func (peer) RemoteAddr() net.Addr { return pipeAddr{} }

// serving is a server that is asked over pipes.
type serving struct {
	site
	pipes *pipes
	began time.Time
	stop  func()
}

// servePipes must be called, and stopped, within a bubble.
func servePipes(t *testing.T, s site) *serving {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &pipes{make(chan net.Conn), make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, p) }()
	return &serving{s, p, time.Now(), func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}}
}

func (s *serving) dial() net.Conn {
	client, server := net.Pipe()
	s.pipes.conns <- peer{server}
	return client
}

// after is how long the server has been up.
func (s *serving) after() time.Duration { return time.Since(s.began) }

// answers reports whether somebody who is as quick as can be is answered, and in no time.
func (s *serving) answers(t *testing.T, path string) {
	t.Helper()
	began := time.Now()
	conn := s.dial()
	defer func() { _ = conn.Close() }()
	go func() { _, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") }()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK || time.Since(began) > 0 {
		t.Errorf("%s: %d, %v, after %s", path, resp.StatusCode, err, time.Since(began))
	}
}

// trickle sends text at one byte a second until the server has had enough.
func trickle(conn net.Conn, text string) {
	for i := range len(text) {
		if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// statusIn is the status of an answer as it was sent; empty: there is none.
func statusIn(answer []byte) string {
	if _, rest, ok := strings.Cut(string(answer), " "); ok && len(rest) > 3 {
		return rest[:3]
	}
	return ""
}
