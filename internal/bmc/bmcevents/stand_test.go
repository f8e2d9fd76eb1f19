package bmcevents

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/inbound"
)

var (
	testKey = []byte(strings.Repeat("k", 32))
	start   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// stand is a receiver that listens to the BMC "rack-1" with UID "uid-1".
type stand struct {
	*Receiver
	t     *testing.T
	clock *clocktesting.FakeClock
	paths Paths
	tls   *tls.Config // of serve; nil: none
	// limits of connections of serve; zero: none
	limits inbound.Limits
	told   []string // "<name> <message id>"
}

func newStand(t *testing.T, o Options) *stand {
	t.Helper()
	s := &stand{t: t, clock: clocktesting.NewFakeClock(start), paths: NewPaths(testKey)}
	o.Paths, o.Clock = s.paths, s.clock
	o.Notify = func(name string, events []Event) {
		for _, e := range events {
			s.told = append(s.told, name+" "+e.MessageID)
		}
	}
	s.Receiver = New(o)
	s.Listen("uid-1", "rack-1")
	return s
}

// path is that of a destination.
func (s *stand) path(channel Channel, uid string) string {
	s.t.Helper()
	u, err := url.Parse(s.paths.Destination("http://192.0.2.1:9000", channel, uid).Reveal())
	if err != nil {
		s.t.Fatal(err)
	}
	return u.Path
}

func (s *stand) send(method, path, body string) *httptest.ResponseRecorder {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body)))
	return w
}

// post sends a body in the name of "rack-1" and returns the status.
func (s *stand) post(body string) int {
	s.t.Helper()
	return s.send(http.MethodPost, s.path(Alerts, "uid-1"), body).Code
}

// series returns what a scrape shows, as `name{label="value"}` to value.
func (s *stand) series() map[string]float64 {
	s.t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s.Receiver)
	families, err := registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			found[family.GetName()+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return found
}

// event is a message with one event.
func event(id, messageID, severity string) string {
	return fmt.Sprintf(`{"@odata.type": "#Event.v1_9_0.Event", "Id": %[1]q, "Events": [
		{"EventId": %[1]q, "MemberId": "0", "MessageId": %[2]q, "MessageSeverity": %[3]q, "EventTimestamp": "2026-03-01T12:00:00Z"}]}`, id, messageID, severity)
}
