package inbound

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/test/await"
)

// TestServe: the end of the context lets an answer end within the grace, cuts it off afterwards, and is no error; that of the listener is one.
func TestServe(t *testing.T) {
	for name, tc := range map[string]struct {
		grace    time.Duration
		answered bool
	}{
		"in time":  {time.Hour, true},
		"too late": {time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			asked, answer := make(chan struct{}), make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			url, served := serve(ctx, t, tc.grace, func(w http.ResponseWriter, r *http.Request) {
				close(asked)
				select {
				case <-answer:
				case <-r.Context().Done():
				}
				w.WriteHeader(http.StatusNoContent)
			})
			got := make(chan bool, 1)
			go func() {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
				if err != nil {
					t.Error(err)
				}
				response, err := http.DefaultClient.Do(request)
				got <- err == nil && response.StatusCode == http.StatusNoContent
				if err == nil {
					_ = response.Body.Close()
				}
			}()
			await.Receive(t, "the request", asked)
			cancel()
			if tc.answered {
				close(answer)
			}
			if ok := await.Receive(t, "what the client gets", got); ok != tc.answered {
				t.Errorf("the client gets an answer: %t, want %t", ok, tc.answered)
			}
			if err := await.Receive(t, "the end", served); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("without its listener", func(t *testing.T) {
		l := listen(t)
		_ = l.Close()
		err := Serve(t.Context(), "page", &http.Server{ReadHeaderTimeout: time.Second}, l, time.Second)
		if err == nil || !strings.HasPrefix(err.Error(), "page on "+l.Addr().String()+": ") {
			t.Errorf("error %v", err)
		}
	})
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func serve(ctx context.Context, t *testing.T, grace time.Duration, h http.HandlerFunc) (url string, served chan error) {
	t.Helper()
	l := listen(t)
	served = make(chan error, 1)
	go func() {
		served <- Serve(ctx, "page", &http.Server{Handler: h, ReadHeaderTimeout: time.Second}, l, grace)
	}()
	return "http://" + l.Addr().String(), served
}
