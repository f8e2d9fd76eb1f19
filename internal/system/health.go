package system

import (
	"context"
	"errors"
	"net/http"
)

// errCaches is what /readyz says until everything that exists has been read once.
var errCaches = errors.New("the caches are not full yet")

// check is one of the conditions of a health page.
type check struct {
	name string
	err  func() error
}

// health answers /healthz and /readyz. A process that stands by is ready too: it has the caches, and could take over at once. One that has no contact
// with the API is not: it answers machines from what it knew, and one that knows more is to be preferred.
func (s *System) health() http.Handler {
	mux := http.NewServeMux()
	answer := func(path string, checks ...check) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { report(w, checks) })
		for _, c := range checks {
			mux.HandleFunc(path+"/"+c.name, func(w http.ResponseWriter, _ *http.Request) { report(w, []check{c}) })
		}
	}
	answer("/healthz", check{"ping", func() error { return nil }})
	answer("/readyz", check{"caches", s.cachesFull}, check{"api", s.contact.Err})
	return mux
}

// report answers 200, or 503 with what is not as it should be.
func report(w http.ResponseWriter, checks []check) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	text := ""
	for _, c := range checks {
		if err := c.err(); err != nil {
			text += c.name + ": " + err.Error() + "\n"
		}
	}
	if text == "" {
		_, _ = w.Write([]byte("ok\n"))
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(text))
}

// cachesFull is a check of /readyz.
func (s *System) cachesFull() error {
	select {
	case <-s.synced:
		return nil
	default:
		return errCaches
	}
}

// syncing notes when the caches are full. controller-runtime starts it when they are.
type syncing struct{ *System }

func (s syncing) Start(context.Context) error {
	close(s.synced)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (syncing) NeedLeaderElection() bool { return false }
