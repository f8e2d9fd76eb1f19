package bootserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
	"github.com/farrier-dev/farrier/internal/inbound/progress"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// TestSlowClients: whoever does not finish what it began loses the connection at its time, however busy it looks, and
// nothing is stored of it.
func TestSlowClients(t *testing.T) {
	report := "POST /probe/" + tokenA + "/register HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
	for _, c := range []struct {
		name, sent, trickled string
		status               string
		closed               time.Duration
	}{
		{"nothing at all", "", "", "", defaultTimeouts.header},
		{"half a header", "GET /ipxe HTTP/1.1\r\nHost: x\r\n", "", "", defaultTimeouts.header},
		{"a header that trickles in", "GET /ipxe HTTP/1.1\r\nHost: x\r\nX: ", strings.Repeat("x", 1000), "", defaultTimeouts.header},
		{"half a report", report + "{", "", "408", defaultTimeouts.body},
		{"a report that trickles in", report + "{", strings.Repeat(" ", 99), "408", defaultTimeouts.body},
		{"half a body that nobody reads", "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", "", "200", defaultTimeouts.body},
		{"nothing more", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "", "200", defaultTimeouts.idle},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := servePipes(t, newSite(t, nil).booted())
				defer s.stop()
				conn, sent := s.dial(), make(chan struct{})
				defer func() {
					_ = conn.Close()
					<-sent
				}()
				go func() {
					defer close(sent)
					_, _ = io.WriteString(conn, c.sent)
					trickle(conn, c.trickled)
				}()
				got, err := io.ReadAll(conn) // until the server closes
				// A body that nobody read is waited for once more after the answer.
				if closed := s.after(); err != nil || closed < c.closed || closed > c.closed+time.Second {
					t.Errorf("%v, closed after %s, want %s", err, closed, c.closed)
				}
				if status := statusIn(got); status != c.status {
					t.Errorf("answered %q, want status %q", got, c.status)
				}
				if len(s.reports.registrations) > 0 {
					t.Error("half a report was stored")
				}
			})
		})
	}
}

// TestSlowClientsHoldNobodyUp: while hundreds of them take nothing of what they asked for, others are answered at once
// and the view is written to; when their time is over they are gone.
func TestSlowClientsHoldNobodyUp(t *testing.T) {
	for path, limit := range map[string]time.Duration{
		"/ipxe/" + uuidA:     defaultTimeouts.answer,
		"/ignition/" + uuidA: defaultTimeouts.answer,
		"/httpboot":          defaultTimeouts.answer,
		"/image?x":           progress.ChunkTimeout,
	} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := servePipes(t, newSite(t, func(c *Config) { c.Deliver = func(Delivery) {} }))
				defer s.stop()
				const slow = 300
				var conns []net.Conn
				for range slow {
					conn := s.dial()
					conns = append(conns, conn)
					if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait() // all of them are being answered, and take nothing
				for _, other := range []string{"/ipxe/" + uuidA, "/ignition/" + uuidA, "/httpboot", "/image?x", "/healthz"} {
					s.answers(t, other)
				}
				s.view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/new", UUID: uuidX, Rank: bootview.Current, Script: bootview.ExitScript()})
				s.answers(t, "/ipxe/"+uuidX)
				time.Sleep(limit + time.Second)
				synctest.Wait()
				for _, conn := range conns {
					if got, err := io.ReadAll(conn); err != nil || len(got) > 0 {
						t.Fatalf("%d bytes and %v after %s", len(got), err, s.after())
					}
					_ = conn.Close()
				}
			})
		})
	}
}

// TestAFastEnoughDownloadTakesItsTime: an artifact may take longer than any answer, as long as it goes on.
func TestAFastEnoughDownloadTakesItsTime(t *testing.T) {
	const size = 10 * progress.Chunk
	for name, c := range map[string]struct {
		perSecond int64
		whole     bool
	}{"twice the least": {2 * progress.Chunk / 60, true}, "half of it": {progress.Chunk / 2 / 60, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := servePipes(t, newSite(t, func(c *Config) { c.Blobs = zeros(size) }))
				defer s.stop()
				conn := s.dial()
				defer func() { _ = conn.Close() }()
				go func() { _, _ = io.WriteString(conn, "GET /image?x HTTP/1.1\r\nHost: x\r\n\r\n") }()
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				var got int64
				for err == nil {
					var n int64
					n, err = io.CopyN(io.Discard, resp.Body, c.perSecond)
					got += n
					time.Sleep(time.Second)
				}
				if whole := got == size; whole != c.whole || whole && s.after() <= defaultTimeouts.answer {
					t.Errorf("%d bytes of %d in %s, %v", got, size, s.after(), err)
				}
			})
		})
	}
}

// zeros is a blob of that many of them.
type zeros int64

func (z zeros) Open(context.Context, *url.URL, bool) (*blobcache.Blob, error) {
	return &blobcache.Blob{ReadSeeker: io.NewSectionReader(nothing{}, 0, int64(z)), Size: int64(z)}, nil
}

func (z zeros) Stat(context.Context, *url.URL) (*blobcache.Blob, error) {
	return &blobcache.Blob{Size: int64(z)}, nil
}

type nothing struct{}

func (nothing) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// slowly stores reports in its own time.
type slowly struct{ takes time.Duration }

func (s slowly) Register(ctx context.Context, _ inspection.Registration) error {
	select {
	case <-time.After(s.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slowly) BootState(ctx context.Context, _ inspection.BootState) error {
	return s.Register(ctx, inspection.Registration{})
}

// TestASlowReportIsStillAnswered: what comes late, and takes long to be stored, is stored; its sender must hear so.
func TestASlowReportIsStillAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		takes time.Duration
		want  int
	}{"in time": {DefaultReportTimeout - time.Second, 201}, "too late": {DefaultReportTimeout + time.Second, 503}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := servePipes(t, newSite(t, func(cfg *Config) { cfg.Reports = slowly{c.takes} }).booted())
				defer s.stop()
				conn := s.dial()
				defer func() { _ = conn.Close() }()
				body := report(uuidA)
				go func() {
					_, _ = fmt.Fprintf(conn, "POST /probe/%s/register HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", tokenA, len(body))
					time.Sleep(defaultTimeouts.body - time.Second)
					_, _ = io.WriteString(conn, body)
				}()
				got, err := io.ReadAll(conn)
				if status := statusIn(got); err != nil || status != fmt.Sprint(c.want) {
					t.Errorf("%v, %q after %s", err, got, s.after())
				}
			})
		})
	}
}

// late answers when a blob has been downloaded and verified, or has not.
type late time.Duration

func (l late) Open(ctx context.Context, u *url.URL, _ bool) (*blobcache.Blob, error) {
	return l.Stat(ctx, u)
}

func (l late) Stat(context.Context, *url.URL) (*blobcache.Blob, error) {
	time.Sleep(time.Duration(l))
	return nil, blobcache.ErrBusy
}

// TestALateAnswerIsStillSent: a blob that is verified before it is sent may take longer than a chunk of one may.
func TestALateAnswerIsStillSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := servePipes(t, newSite(t, func(c *Config) { c.Blobs = late(3 * progress.ChunkTimeout) }))
		defer s.stop()
		conn := s.dial()
		defer func() { _ = conn.Close() }()
		go func() { _, _ = io.WriteString(conn, "GET /image?x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") }()
		if got, err := io.ReadAll(conn); err != nil || statusIn(got) != "503" {
			t.Errorf("%q, %v", got, err)
		}
	})
}
