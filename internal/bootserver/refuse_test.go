package bootserver

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// TestRequestsThatAreNone: each is refused with its status, and the connection with it where it is not worth reading
// on. None of them keeps the next caller waiting.
func TestRequestsThatAreNone(t *testing.T) {
	const tail = "\r\nHost: x\r\n\r\n"
	for _, c := range []struct {
		name, request string
		status        int
		allow         string
		closed        bool
	}{
		{"a huge header", "GET /httpboot HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: " + strings.Repeat("10.0.0.1,", 4<<10) + "\r\n\r\n", 431, "", true},
		{"a hundred thousand headers", "GET /ipxe HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 100_000) + "\r\n", 431, "", true},
		{"a header without end", "GET /ipxe HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 1<<20), 431, "", true},
		{"a huge URL", "GET /ipxe/" + strings.Repeat("x", 32<<10) + " HTTP/1.1" + tail, 431, "", true},
		{"as many identifiers as are promised", "GET /httpboot HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: " + strings.Repeat("02:fa:44:00:00:ff,", 300) + "\r\n\r\n", 200, "", false},
		{"no host", "GET /ipxe HTTP/1.1\r\n\r\n", 400, "", true},
		{"two hosts", "GET /ipxe HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400, "", true},
		{"a newline in a name", "GET /ipxe HTTP/1.1\r\nHost: x\r\nX\x0b: y\r\n\r\n", 400, "", true},
		{"a NUL in the path", "GET /ipxe/\x00 HTTP/1.1" + tail, 400, "", true},
		{"two lengths", "POST /register HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400, "", true},
		{"a negative length", "POST /register HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, "", true},
		{"a coding that nobody knows", "POST /register HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "", true},
		{"no HTTP", "SSH-2.0-OpenSSH_9.9\r\n\r\n", 400, "", true},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "", true},
		{"options of everything", "OPTIONS * HTTP/1.1" + tail, 405, "GET, HEAD", false},
		{"a proxy's request", "CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254:80\r\n\r\n", 405, "GET, HEAD", false},
		{"a proxy's URL", "GET http://169.254.169.254/latest/meta-data HTTP/1.1" + tail, 404, "", false},
		{"the way up", "GET /boot/../../../etc/passwd HTTP/1.1" + tail, 404, "", false},
		{"the way up, escaped", "GET /boot/%2e%2e/%2e%2e/etc/passwd HTTP/1.1" + tail, 404, "", false},
		{"the way up, in a UUID", "GET /ipxe/..%2f..%2fetc%2fpasswd HTTP/1.1" + tail, 404, "", false},
		{"a newline in a UUID", "GET /ipxe/" + uuidA + "%0d%0aSet-Cookie:%20a=b HTTP/1.1" + tail, 404, "", false},
		{"a newline in a query", "GET /ipxe/" + uuidX + "?mac=%0d%0aSet-Cookie:%20a=b HTTP/1.1" + tail, 404, "", false},
		{"an old client", "GET /ipxe/" + uuidD + " HTTP/1.0\r\n\r\n", 200, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := servePipes(t, newSite(t, func(c *Config) { c.ProgramsDir = t.TempDir() }))
				defer s.stop()
				conn := s.dial()
				defer func() { _ = conn.Close() }()
				go func() { _, _ = io.WriteString(conn, c.request) }()
				reader := bufio.NewReader(conn)
				resp, err := http.ReadResponse(reader, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Error(err)
				}
				if resp.StatusCode != c.status || resp.Header.Get("Allow") != c.allow || resp.Close != c.closed ||
					resp.Header.Get("Location") != "" || resp.Header.Get("Set-Cookie") != "" {
					t.Errorf("%s %v, to be closed %t", resp.Status, resp.Header, resp.Close)
				}
				if c.closed {
					if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
						t.Errorf("and then %q, %v", rest, err)
					}
				}
				s.answers(t, "/ipxe/"+uuidA)
			})
		})
	}
}
