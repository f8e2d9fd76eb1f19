package bmcreset

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/crypto/ssh"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmcssh"
)

func fine(string) (string, uint32, bool) { return "done\n", 0, false }

func (s *server) request(id string, m Make) Request {
	return Request{
		Name: "b", ID: id, Make: m, Host: "127.0.0.1", Port: s.port, Credentials: bmc.Credentials{Username: "admin", Password: "marker"},
		HostKey: s.key(),
	}
}

// worker runs a Worker for one test, and do gives it a request and waits for the result.
type worker struct {
	*Worker
	woken chan string
}

func newWorker(t *testing.T, timeout time.Duration) *worker {
	t.Helper()
	w := &worker{woken: make(chan string, 16)}
	w.Worker = &Worker{Wake: func(name string) { w.woken <- name }, Timeout: timeout}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *worker) do(t *testing.T, r Request) Result {
	t.Helper()
	if err := w.Submit(r); err != nil {
		t.Fatal(err)
	}
	if name := <-w.woken; name != r.Name {
		t.Errorf("woken is %q", name)
	}
	result, ok := w.Result(r.ID)
	if !ok {
		t.Fatal("there is no result")
	}
	if result.Err != nil && strings.Contains(fmt.Sprintf("%+v", result.Err), "marker") {
		t.Errorf("the password is in %v", result.Err)
	}
	return result
}

func TestEachMakeIsToldInItsWords(t *testing.T) {
	for name, tc := range map[string]struct {
		make   Make
		server *server
		typed  []string
		says   string // of the error; empty: none
	}{
		"Dell":                {Dell, &server{does: fine}, []string{"racadm racreset"}, ""},
		"HPE":                 {HPE, &server{does: fine}, []string{"reset /map1"}, ""},
		"Lenovo":              {Lenovo, &server{does: fine}, []string{"resetsp"}, ""},
		"by a shell":          {HPE, &server{does: fine, shellOnly: true}, []string{"reset /map1"}, ""},
		"asked interactively": {Dell, &server{does: fine, asks: true}, []string{"racadm racreset"}, ""},
		"the connection breaks": {
			Dell, &server{does: func(string) (string, uint32, bool) { return "", 0, true }}, []string{"racadm racreset"}, "",
		},
		"the first command is unknown": {Lenovo, &server{does: func(c string) (string, uint32, bool) {
			if c == "resetsp" {
				return "Unknown command: resetsp\n", 0, false
			}
			return "ok\n", 0, false
		}}, []string{"resetsp", "rebootbmc"}, ""},
		"an exit status": {
			Dell, &server{does: func(string) (string, uint32, bool) { return "busy\n", 3, false }}, []string{"racadm racreset"}, "exit status 3",
		},
		"refused in words": {
			HPE, &server{does: func(string) (string, uint32, bool) {
				return "status=2\nstatus_tag=COMMAND PROCESSING FAILED\n", 0, false
			}},
			[]string{"reset /map1"}, "PROCESSING FAILED",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.server.start(t)
			result := newWorker(t, time.Minute).do(t, tc.server.request("1", tc.make))
			if (result.Err == nil) != (tc.says == "") || result.Err != nil && !strings.Contains(result.Err.Error(), tc.says) {
				t.Errorf("the result is %v, want %q", result.Err, tc.says)
			}
			if got := tc.server.typed(); !slices.Equal(got, tc.typed) {
				t.Errorf("typed was %q, want %q", got, tc.typed)
			}
		})
	}
}

// Whoever answers first may be anybody: only a key that was accepted is good, by its fingerprint or as a whole.
func TestOnlyAnAcceptedHostKeyIsToldThePassword(t *testing.T) {
	s := &server{does: fine}
	s.start(t)
	w := newWorker(t, time.Minute)
	fingerprint := ssh.FingerprintSHA256(s.signer.PublicKey())
	for name, tc := range map[string]struct {
		key     string
		refused string // the reason; empty: the password is told
	}{
		"none":                       {"", "nobody has accepted the SSH host key " + fingerprint},
		"blank":                      {"  ", "nobody has accepted"},
		"a fingerprint":              {fingerprint, ""},
		"with padding":               {fingerprint + "=", ""},
		"the key":                    {s.key() + " comment", ""},
		"another fingerprint":        {"SHA256:" + strings.Repeat("A", 43), "is not the one that was accepted: " + fingerprint},
		"half of a fingerprint":      {fingerprint[:30], "not a fingerprint"},
		"a fingerprint of MD5":       {"MD5:00:11", "accepted SSH host key: "},
		"the fingerprint of nothing": {"SHA256:", "not a fingerprint"},
	} {
		before := s.attempts()
		r := s.request(name, Dell)
		r.HostKey = tc.key
		result := w.do(t, r)
		if (result.Err == nil) != (tc.refused == "") || result.Err != nil && !strings.Contains(result.Err.Error(), tc.refused) {
			t.Errorf("%s: %v, want %q", name, result.Err, tc.refused)
		}
		if told := s.attempts() > before; told != (tc.refused == "") {
			t.Errorf("%s: the password was told: %v", name, told)
		}
	}
	for o, want := range map[string]float64{outcomeDone: 3, outcomeUnknown: 2, outcomeChanged: 1, outcomeFailed: 3} {
		if got := testutil.ToFloat64(w.resets.WithLabelValues(o)); got != want {
			t.Errorf("%s is counted %v times, want %v", o, got, want)
		}
	}
}

func TestTheHostKeyIsRemembered(t *testing.T) {
	first, second := &server{does: fine}, &server{does: fine}
	first.start(t)
	second.start(t)
	w := newWorker(t, time.Minute)
	again := first.request("1", Dell)
	again.HostKey = first.key()
	if r := w.do(t, again); r.Err != nil {
		t.Errorf("the same key: %v", r.Err)
	}
	other := second.request("2", Dell)
	other.HostKey = first.key()
	if r := w.do(t, other); !changed(r.Err) {
		t.Errorf("another key: %+v", r)
	}
	if n := second.attempts(); n != 0 {
		t.Errorf("a stranger was told the password %d times", n)
	}
	broken := first.request("3", Dell)
	broken.HostKey = "nonsense"
	if r := w.do(t, broken); r.Err == nil {
		t.Error("a broken key is as none")
	}
}

func changed(err error) bool {
	e, ok := errors.AsType[*bmcssh.HostKeyError](err)
	return ok && e.Changed
}

func TestAWrongPasswordIsTriedOnce(t *testing.T) {
	s := &server{does: fine}
	s.start(t)
	r := s.request("1", Dell)
	r.Credentials.Password = "other"
	if result := newWorker(t, time.Minute).do(t, r); result.Err == nil || len(s.typed()) != 0 {
		t.Errorf("%v, typed %v", result.Err, s.typed())
	}
	if n := s.attempts(); n != 1 {
		t.Errorf("%d attempts", n)
	}
}

func TestABMCThatHangsEndsAtTheDeadline(t *testing.T) {
	silent := &server{silent: true}
	silent.start(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	w := newWorker(t, 300*time.Millisecond)
	for id, port := range map[string]int{"no end": silent.port, "no beginning": listener.Addr().(*net.TCPAddr).Port} {
		r := silent.request(id, Dell)
		r.Port = port
		if result := w.do(t, r); !errors.Is(result.Err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", id, result.Err)
		}
	}
}

func TestNothingIsDoneTwice(t *testing.T) {
	s := &server{does: fine}
	s.start(t)
	w := newWorker(t, time.Minute)
	w.do(t, s.request("1", Dell))
	if err := w.Submit(s.request("1", Dell)); err != nil {
		t.Fatal(err)
	}
	w.do(t, s.request("2", Dell))
	if got := s.typed(); len(got) != 2 {
		t.Errorf("typed was %q", got)
	}
}

func TestAFullQueueIsSaid(t *testing.T) {
	w := &Worker{}
	for i := range maxQueue {
		if err := w.Submit(Request{ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Submit(Request{ID: "more"}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("the answer is %v", err)
	}
}

func TestMakeOf(t *testing.T) {
	for name, want := range map[string]Make{
		"Dell Inc.": Dell, "HPE": HPE, "Hewlett Packard Enterprise": HPE, "HP": HPE, "LENOVO(CHN)": Lenovo,
		"Supermicro": None, "": None, "Shpere": None,
	} {
		if got := MakeOf(name); got != want {
			t.Errorf("MakeOf(%q) = %q, want %q", name, got, want)
		}
	}
	if got := MakeOf("", "ACME", "Dell"); got != Dell {
		t.Errorf("of several names it is %q", got)
	}
}
