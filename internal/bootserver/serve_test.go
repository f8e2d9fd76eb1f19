package bootserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// start serves s on loopback and returns its address.
func start(t *testing.T, s site) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

// converse sends requests over one connection and returns the answers' status lines
// and bodies.
func converse(t *testing.T, addr string, requests ...string) []string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	var out []string
	for _, request := range requests {
		method, _, _ := strings.Cut(request, " ")
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%q: %v", request, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d length=%d chunked=%v body=%d close=%v",
			resp.StatusCode, resp.ContentLength, len(resp.TransferEncoding) > 0, len(body), resp.Close))
	}
	return out
}

func TestOneConnectionForAll(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Deliver = nil })
	s.boots(uuidA, "127.0.0.1")
	addr := start(t, s)
	get := func(method, path string) string { return method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" }
	got := converse(t, addr,
		get("GET", "/ipxe/"+uuidD), get("HEAD", "/ipxe/"+uuidD), get("GET", "/ipxe/"+uuidX), get("HEAD", "/ipxe/"+uuidX),
		get("GET", "/httpboot"), get("DELETE", "/ipxe"), get("HEAD", "/image?a=b"), get("GET", "/image?a=b"),
		"POST /probe/"+tokenA+"/bootstate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: "+fmt.Sprint(len(booted(uuidA)))+"\r\n\r\n"+booted(uuidA),
		get("GET", "/healthz"),
	)
	n := len(customText)
	want := []string{
		fmt.Sprintf("200 length=%d chunked=false body=%d close=false", n, n),
		fmt.Sprintf("200 length=%d chunked=false body=0 close=false", n),
		"404 length=19 chunked=false body=19 close=false",
		"404 length=19 chunked=false body=0 close=false",
		"200 length=59 chunked=false body=59 close=false",
		"405 length=19 chunked=false body=19 close=false",
		"200 length=3 chunked=false body=0 close=false",
		"200 length=3 chunked=false body=3 close=false",
		"201 length=0 chunked=false body=0 close=false",
		"200 length=3 chunked=false body=3 close=false",
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("answer %d: %s, want %s", i, got[i], want[i])
		}
	}
}

func TestServeSaysWhyItEnded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := newSite(t, nil).Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("got %v", err)
	}
}
