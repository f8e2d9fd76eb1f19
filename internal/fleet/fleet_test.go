package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// hollow is a Client whose BMC has nothing, and which tells of its end.
type hollow struct {
	Client
	closed func(context.Context)
}

func (h hollow) SystemURIs(context.Context) ([]string, error)           { return nil, nil }
func (h hollow) Manager(context.Context) (bmc.Manager, error)           { return bmc.Manager{}, nil }
func (h hollow) Close(ctx context.Context) error                        { h.closed(ctx); return ctx.Err() }
func (h hollow) System(context.Context, string) (s bmc.System, _ error) { return s, nil }

func at(port int) Spec {
	return Spec{Endpoint: bmc.Endpoint{Scheme: "HTTP", Host: "BMC.example", Port: port}}
}

func TestKeys(t *testing.T) {
	f := New(Options{Seed: 1, NewClient: func(Spec) Client { return hollow{} }})
	one, two := f.Ensure(at(8000)), f.Ensure(Spec{Endpoint: bmc.Endpoint{Scheme: "http", Host: "bmc.EXAMPLE", Port: 8000}})
	if one != two || one != "http://bmc.example:8000" {
		t.Errorf("one BMC, two keys: %s, %s", one, two)
	}
	for spec, want := range map[bmc.Endpoint]Key{
		{Host: "10.0.0.1"}:                             "https://10.0.0.1:443",
		{Scheme: "http", Host: "10.0.0.1"}:             "http://10.0.0.1:80",
		{Scheme: "https", Host: "FE80::1", Port: 8443}: "https://[fe80::1]:8443",
		{Host: "[fe80::1]"}:                            "https://[fe80::1]:443",
	} {
		if got := f.Ensure(Spec{Endpoint: spec}); got != want {
			t.Errorf("%+v: %s, want %s", spec, got, want)
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	f := New(Options{Seed: 1})
	f.Remove("nowhere")
	f.Refresh("nowhere")
	if _, ok := f.Observe("nowhere"); ok {
		t.Error("a BMC that is not there is observed")
	}
	if _, ok := f.Command("nowhere", "1"); ok {
		t.Error("a command of a BMC that is not there is known")
	}
}

// On shutdown sessions are deleted side by side, though not all at once, and a
// BMC that does not answer then holds nobody up for longer than agreed.
func TestShutdown(t *testing.T) {
	var mu sync.Mutex
	closed, now, most := 0, 0, 0
	looked := make(chan struct{}, 2000)
	f := New(Options{
		Seed: 1, ShutdownTimeout: 200 * time.Millisecond,
		NewClient: func(s Spec) Client {
			looked <- struct{}{}
			return hollow{closed: func(ctx context.Context) {
				mu.Lock()
				closed++
				now++
				most = max(most, now)
				mu.Unlock()
				if s.Endpoint.Port == 1 {
					<-ctx.Done()
				}
				mu.Lock()
				now--
				mu.Unlock()
			}}
		},
	})
	const bmcs = 2 * maxClosing
	for port := range bmcs {
		f.Ensure(at(port + 1))
	}
	end := begin(t, f)
	for range bmcs {
		<-looked
	}
	end()
	if closed != bmcs || most > maxClosing {
		t.Errorf("%d of %d sessions deleted, %d at a time", closed, bmcs, most)
	}
	if err := f.Run(t.Context()); !errors.Is(err, ErrStarted) {
		t.Errorf("second Run: %v", err)
	}
	f.Ensure(at(9999)) // too late to be looked after, no harm
	if o, ok := f.Observe("http://bmc.example:9999"); !ok || o.Sequence != 0 {
		t.Errorf("after the end: %+v, %v", o, ok)
	}
}

// Subscribers may ask the fleet whatever they like.
func TestSubscribersMayCallBack(t *testing.T) {
	s := newStand(t, nil)
	var seen []uint64
	s.fleet.Subscribe(func(key Key) {
		o, _ := s.fleet.Observe(key)
		seen = append(seen, o.Sequence)
		s.fleet.Refresh("nowhere")
		s.fleet.Ensure(at(1))
		s.fleet.Remove("http://bmc.example:1")
		if len(o.Systems) == 1 {
			_ = s.fleet.Submit(key, Command{ID: "1", System: systemURI, Kind: PowerOn})
		}
	})
	s.runFor(time.Minute)
	if !slices.IsSorted(seen) || len(seen) == 0 || s.status("1").State != Succeeded {
		t.Errorf("seen %v, command %+v", seen, s.status("1"))
	}
}

// An observation that somebody holds does not change under their hands.
func TestObservationsAreSnapshots(t *testing.T) {
	s := met(t, nil)
	o := s.observation()
	before := o.Systems[0]
	isOn(s)
	s.submit(Command{ID: "1", Kind: PowerOff})
	s.runFor(s.fleet.options.PollInterval)
	if o.Systems[0].differs(&before) || o.Systems[0].Seen != before.Seen {
		t.Errorf("%+v became %+v", before, o.Systems[0])
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	var b bytes.Buffer
	handler := slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.Level(-10)})
	s := newStand(t, func(o *Options) { o.Logger = logr.FromSlogHandler(handler) })
	spec := Spec{Endpoint: s.actor.spec.Endpoint, Credentials: bmc.Credentials{Username: "admin", Password: "marker"}}
	s.bmc.fail = failing(errAuth)
	s.runFor(time.Hour)
	s.bmc.fail = nil
	s.fleet.Ensure(Spec{Endpoint: spec.Endpoint, Credentials: bmc.Credentials{Username: "admin", Password: "marker-2"}})
	s.runFor(time.Hour)
	s.submit(Command{ID: "1", Kind: PowerOn})
	s.runFor(time.Hour)
	for _, v := range []any{spec, &spec, s.observation(), s.status("1")} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			fmt.Fprintf(&b, verb, v)
		}
		_ = json.NewEncoder(&b).Encode(v)
		slog.New(handler).Info("message", "value", v)
	}
	families, err := registry(t, s.fleet).Gather()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(&b, families)
	if b.Len() == 0 || strings.Contains(b.String(), "marker") {
		t.Errorf("shows a password: %s", b.String())
	}
}

func registry(t *testing.T, f *Fleet) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(f); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMetrics(t *testing.T) {
	s := met(t, nil)
	s.submit(Command{ID: "1", Kind: PowerOn})
	s.runFor(time.Minute)
	isOff(s)
	later(s, time.Hour, true)
	s.submit(Command{ID: "2", Kind: PowerOn, Budget: time.Hour})
	s.step()
	s.fleet.metrics.request(bmc.Request{Method: "POST", Login: true, Duration: time.Second})
	s.fleet.metrics.request(bmc.Request{Method: "GET", Kind: bmc.KindTimeout, Duration: time.Second})
	s.fleet.Ensure(at(1))
	s.clock.Step(10 * time.Second)

	families, err := registry(t, s.fleet).Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "farrier_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for name, want := range map[string]float64{
		"bmc_requests_total GET Timeout":         1,
		"bmc_requests_total POST ok":             1,
		"bmc_logins_total ok":                    1,
		"bmc_request_duration_seconds":           2,
		"fleet_commands_total PowerOn Succeeded": 1,
		"fleet_commands_in_flight":               1,
		"fleet_observation_age_seconds":          1,
		"fleet_bmcs ok":                          1,
		"fleet_bmcs unknown":                     1,
	} {
		labels := strings.Fields(name)
		slices.Sort(labels[1:])
		found := false
		for have, v := range got {
			fields := strings.Fields(have)
			slices.Sort(fields[1:])
			found = found || slices.Equal(labels, fields) && v == want
		}
		if !found {
			t.Errorf("no %s = %v among %v", name, want, got)
		}
	}
}
