package bmcevents

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
)

// TestPathsAreNotLogged, nor shown in a series, whatever is sent to them.
func TestPathsAreNotLogged(t *testing.T) {
	var log strings.Builder
	logger := funcr.New(func(prefix, args string) { log.WriteString(prefix + args + "\n") }, funcr.Options{Verbosity: 10})
	s := newStand(t, Options{Logger: logger})
	path := s.path(Alerts, "uid-1")
	token := path[strings.LastIndex(path, "/")+1:]
	for _, body := range []string{event("1", "A.1.0.B", "OK"), "<xml/>", "", `{"Events": [` + strings.Repeat("x", maxBody)} {
		s.send("POST", path, body)
		s.send("GET", path, body)
		s.send("POST", path+"x", body)
	}
	if !strings.Contains(log.String(), "not decoded") {
		t.Errorf("nothing is logged at all: %s", log.String())
	}
	for name := range s.series() {
		log.WriteString(name)
	}
	if strings.Contains(log.String(), token) || strings.Contains(log.String(), "uid-1") {
		t.Errorf("a path is shown: %s", log.String())
	}
}
