package content

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// patience is how long is waited for what comes at once on a machine that is not busy.
const patience = 30 * time.Second

func start(t *testing.T, o Options) (*Resolver, chan Request) {
	t.Helper()
	r := NewResolver(o)
	news := make(chan Request, 64)
	r.Subscribe(func(request Request) { news <- request })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return r, news
}

func await(t *testing.T, news chan Request) {
	t.Helper()
	select {
	case <-news:
	case <-time.After(patience):
		t.Fatal("nothing was heard")
	}
}

func hosts(t *testing.T, list ...string) Hosts {
	t.Helper()
	h, err := ParseHosts(list)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
		err   string
	}{
		"content": {serve: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "v1") }, want: "v1"},
		"an error": {serve: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "internals", http.StatusInternalServerError)
		}, err: "status 500"},
		"an error page with status 200": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<html>sorry")
		}, err: "HTML"},
		"a redirect":        {serve: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, err: "redirects"},
		"too long":          {serve: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 101)) }, err: "longer than 100 bytes"},
		"as long as may be": {serve: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 100)) }, want: strings.Repeat("x", 100)},
		"cut off in between": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "50")
			fmt.Fprint(w, "v")
		}, err: "ends early"},
		"basic authentication": {serve: func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			fmt.Fprint(w, user, ":", password)
		}, want: "u:p"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.serve)
			defer server.Close()
			r, news := start(t, Options{Hosts: hosts(t, "127.0.0.1"), MaxBytes: 100, Clock: clock.RealClock{}})
			request := Request{URL: server.URL}
			if name == "basic authentication" {
				request.Username, request.Password = "u", Secret("p")
			}
			if _, asked := r.Lookup(request); asked {
				t.Error("there is an answer before anybody was asked")
			}
			await(t, news)
			got, asked := r.Lookup(request)
			if !asked || string(got.Bytes) != c.want || got.Found != (c.err == "") {
				t.Errorf("got %q (found %t, asked %t), want %q", got.Bytes, got.Found, asked, c.want)
			}
			if c.err == "" && got.Err != nil || c.err != "" && !strings.Contains(fmt.Sprint(got.Err), c.err) {
				t.Errorf("error %v, want %q", got.Err, c.err)
			}
		})
	}
}

func TestAServerThatHangs(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	r, news := start(t, Options{Hosts: hosts(t, "127.0.0.1"), MaxBytes: 100, Clock: clock.RealClock{}, Timeout: 50 * time.Millisecond})
	r.Lookup(Request{URL: server.URL})
	await(t, news)
	if got, _ := r.Lookup(Request{URL: server.URL}); got.Err == nil || !strings.Contains(got.Err.Error(), "in time") {
		t.Errorf("error %v", got.Err)
	}
}

// script answers requests with what a test hands it, in the test's own time.
type script struct {
	asked chan struct{}
	next  chan scripted
}

type scripted struct {
	body string
	err  error
}

func (s script) ask(ctx context.Context, _ Request) ([]byte, error) {
	select {
	case s.asked <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case answer := <-s.next:
		return []byte(answer.body), answer.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestTheLastGoodAnswerStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewResolver(Options{Hosts: hosts(t, "example.com"), MaxBytes: 100, Clock: clock.RealClock{}})
		server := script{make(chan struct{}), make(chan scripted)}
		r.ask = server.ask
		told := 0
		r.Subscribe(func(Request) { told++ })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		request := Request{URL: "https://example.com/"}
		r.Lookup(request)
		for i, step := range []struct {
			body  string
			err   error
			pause time.Duration
			told  int
		}{
			{body: "v1", pause: Refresh, told: 1},
			{body: "v1", pause: Refresh, told: 1},
			{err: context.DeadlineExceeded, pause: firstRetry, told: 2},
			{err: context.DeadlineExceeded, pause: 2 * firstRetry, told: 2},
			{body: "v2", pause: Refresh, told: 3},
		} {
			synctest.Wait()
			select {
			case <-server.asked:
			default:
				t.Fatalf("step %d: nobody is asked", i)
			}
			server.next <- scripted{step.body, step.err}
			synctest.Wait()
			if told != step.told {
				t.Errorf("step %d: told %d times, want %d", i, told, step.told)
			}
			if got, _ := r.Lookup(request); !got.Found || step.err != nil && string(got.Bytes) != "v1" {
				t.Errorf("step %d: %q, found %t", i, got.Bytes, got.Found)
			}
			time.Sleep(step.pause - 1)
			synctest.Wait()
			if r.answers.Busy() > 0 {
				t.Errorf("step %d: asked again within %s", i, step.pause)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
		}
		r.Forget(request)
		cancel()
		if err := <-done; err != nil || r.answers.Len() > 0 {
			t.Errorf("%v; what was forgotten is asked again", err)
		}
	})
}

func TestHosts(t *testing.T) {
	h := hosts(t, "example.com", "*.corp.example", "db.example:8443", "[fd00::1]:443", "10.0.0.1")
	for text, want := range map[string]bool{
		"https://example.com/x": true, "http://EXAMPLE.com.": true, "https://sub.example.com": false, "https://a.b.corp.example": true,
		"https://corp.example": false, "https://evilcorp.example": false, "https://db.example:8443": true, "https://db.example": false,
		"https://[fd00::1]/": true, "http://[fd00::1]/": false, "http://10.0.0.1:1": true, "http://127.0.0.1": false,
		"https://u:p@example.com": false, "ftp://example.com": false, "https://example.com@evil.example": false, "": false, "https://": false,
	} {
		if err := h.Check(text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "*", "*.*.x", "http://x", "a b", "x/y"} {
		if _, err := ParseHosts([]string{text}); err == nil {
			t.Errorf("%q is taken for a host", text)
		}
	}
	for address, want := range map[string]bool{
		"192.0.2.1:80": true, "127.0.0.1:80": false, "[::1]:80": false, "169.254.169.254:80": false, "[fe80::1%eth0]:80": false,
		"0.0.0.0:80": false, "[::ffff:127.0.0.1]:80": false, "224.0.0.1:80": false, "10.0.0.1:80": true,
	} {
		if err := h.control("tcp", address, nil); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := hosts(t, "localhost:80").control("tcp", "127.0.0.1:80", nil); err != nil {
		t.Error(err)
	}
}

func TestMutualTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "v") }))
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	r, news := start(t, Options{Hosts: hosts(t, "127.0.0.1"), MaxBytes: 100, Clock: clock.RealClock{}})
	// A server that demands a certificate says so; one that is presented is that of the request.
	demanding := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, len(r.TLS.PeerCertificates)) }))
	demanding.Config.ErrorLog = log.New(io.Discard, "", 0)
	demanding.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	demanding.StartTLS()
	defer demanding.Close()
	without := Request{URL: demanding.URL, CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: demanding.Certificate().Raw})}
	r.Lookup(without)
	await(t, news)
	if got, _ := r.Lookup(without); got.Found || !strings.Contains(fmt.Sprint(got.Err), "certificate required") {
		t.Errorf("without a certificate: %q, %v", got.Bytes, got.Err)
	}
	known, unknown, broken := Request{URL: server.URL, CA: ca}, Request{URL: server.URL}, Request{URL: server.URL, Certificate: []byte("x"), Key: Secret("hush")}
	for request, want := range map[*Request]bool{&known: true, &unknown: false, &broken: false} {
		r.Lookup(*request)
		await(t, news)
		got, _ := r.Lookup(*request)
		if got.Found != want {
			t.Errorf("found %t, want %t: %v", got.Found, want, got.Err)
		}
		if strings.Contains(fmt.Sprint(got.Err), "hush") {
			t.Error("an error says the key")
		}
	}
	if text := fmt.Sprintf("%v %+v %x %s %q", broken, broken, broken.Key, broken.Key, broken.Key); strings.Contains(text, "hush") || strings.Contains(text, "68757368") {
		t.Errorf("printed: %s", text)
	}
}
