package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// wire counts the connections to each BMC as this side has them: one, with HTTP/1.1, means one
// request in flight. What the rack counts may lag behind where it hangs on purpose.
type wire struct {
	mu   sync.Mutex
	open map[string]int
	most int
}

func (w *wire) count(address string, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[address] += by
	w.most = max(w.most, w.open[address])
}

// peak is the most connections that one BMC had at a time. Closing may still be under way.
func (w *wire) peak() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

type wired struct {
	net.Conn
	closed func()
}

func (c *wired) Close() error {
	c.closed()
	return c.Conn.Close()
}

// clients makes real ones that count.
func (w *wire) clients(o fleet.Options) func(fleet.Spec) fleet.Client {
	options := bmc.Options{RequestTimeout: o.RequestTimeout, IdleTimeout: 50 * time.Millisecond}
	options.Transport = bmc.NewTransport(options)
	dial := options.Transport.DialContext
	options.Transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		w.count(address, 1)
		return &wired{conn, sync.OnceFunc(func() { w.count(address, -1) })}, nil
	}
	return func(s fleet.Spec) fleet.Client { return bmc.NewClient(s.Endpoint, s.Credentials, options) }
}

// output collects all that anybody could see.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *output) show(v any) {
	_, _ = fmt.Fprintf(o, "%v %+v %#v\n", v, v, v)
	_ = json.NewEncoder(o).Encode(v)
}

// storm is a rack at which everything happens by chance.
type storm struct {
	*running
	t         *testing.T
	rack      *sim.Rack
	random    *rand.Rand
	keys      []fleet.Key
	passwords []string
	accepted  map[fleet.Key][]string
	out       *output
}

var stormKinds = []fault.Kind{
	fault.Latency, fault.Hang, fault.HangBody, fault.Reset, fault.Unauthorized, fault.Forbidden, fault.TooManyRequests, fault.ServerError,
	fault.Unavailable, fault.WrongJSON, fault.TruncatedJSON, fault.SessionLoss, fault.SessionTableFull, fault.PowerLies,
	fault.NoPowerState, fault.NoStorage, fault.ExpandLies, fault.MemberError, fault.IgnoreShutdown,
}

// blow does one thing at random.
func (s *storm) blow(n int) {
	i := s.random.IntN(len(s.keys))
	key := s.keys[i]
	switch s.random.IntN(10) {
	case 0, 1:
		spec := fault.Spec{Kind: stormKinds[s.random.IntN(len(stormKinds))], BMCs: []int{i + 1}, Chance: 0.5}
		if _, err := s.rack.InjectFault(spec); err != nil {
			spec.Chance = 0
			_, _ = s.rack.InjectFault(spec)
		}
	case 2:
		for _, e := range s.rack.Faults() {
			_ = s.rack.ClearFault(e.ID)
		}
	case 3:
		s.passwords[i] = fmt.Sprint(marker, "-", n)
		s.rack.SetPassword(i, s.passwords[i])
	case 4:
		s.Ensure(s.spec(i))
	case 5:
		s.PollSoon(key)
		s.Refresh(key)
	case 6:
		_ = s.Lock(key, "rotation", 100*time.Millisecond) // another may have begun
	case 7:
		id := fmt.Sprint("job-", n)
		s.accept(key, id, s.Do(key, fleet.Job{ID: id, Budget: 2 * time.Second, Run: func(ctx context.Context, c fleet.Services) error {
			_, err := c.Firmware(ctx)
			return errors.Join(err, c.Verify(ctx, bmc.Credentials{Username: "admin", Password: marker + "-wrong"}))
		}}))
	default:
		kinds := []fleet.CommandKind{fleet.PowerOn, fleet.PowerOff, fleet.SetIndicator}
		id := fmt.Sprint("command-", n)
		o, _ := s.Observe(key)
		if len(o.Systems) == 0 {
			return
		}
		s.accept(key, id, s.Submit(key, fleet.Command{
			ID: id, System: o.Systems[0].URI, Kind: kinds[s.random.IntN(len(kinds))], Force: true, Budget: time.Second, Indicator: bmc.IndicatorLit,
			Boot: bmc.BootOverride{Target: bmc.BootPXE},
		}))
	}
}

func (s *storm) accept(key fleet.Key, id string, err error) {
	if err == nil {
		s.accepted[key] = append(s.accepted[key], id)
		return
	}
	s.out.show(err)
}

func (s *storm) spec(i int) fleet.Spec {
	e := endpoint(s.rack.BMCs()[i])
	return fleet.Spec{Endpoint: e, Credentials: credentials(s.passwords[i])}
}

// TestStorm lets real actors and simulated BMCs of all vendors do what they can to each
// other: one connection to a BMC, whatever happens; every command ends; no goroutine stays; and
// nothing that anybody could see shows a password.
func TestStorm(t *testing.T) {
	const bmcs, blows = 12, 250
	before := runtime.NumGoroutine()
	out := &output{}
	r, err := sim.Start(t.Context(), sim.Options{
		Servers: bmcs, Username: "admin", Password: marker, Seed: 3, Vendors: sim.Vendors(),
		Timing:  sim.Timing{POST: 20 * time.Millisecond, Shutdown: 20 * time.Millisecond},
		BootURL: func() string { return "http://127.0.0.1:1/ipxe/" },
	})
	if err != nil {
		t.Fatal(err)
	}
	o := quick
	o.Logger = logr.FromSlogHandler(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.Level(-10)}))
	o.RequestTimeout, o.AuthBackoff, o.Seed = 500*time.Millisecond, 200*time.Millisecond, 5
	w := &wire{open: map[string]int{}}
	o.NewClient = w.clients(o)
	s := &storm{running: run(t, o), t: t, rack: r, random: rand.New(rand.NewPCG(1, 2)), accepted: map[fleet.Key][]string{}, out: out}
	s.Subscribe(func(key fleet.Key) {
		o, _ := s.Observe(key)
		out.show(o)
	})
	for i := range bmcs {
		s.passwords = append(s.passwords, marker)
		s.keys = append(s.keys, s.Ensure(s.spec(i)))
	}
	for _, key := range s.keys {
		s.until(key, "first look", known)
	}
	pace := time.NewTicker(2 * time.Millisecond) // of the storm; how much the others do between two blows does not matter
	defer pace.Stop()
	for n := range blows {
		s.blow(n)
		<-pace.C
	}
	s.calm()
	s.reveal(o)
	s.stop()
	if err := r.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if peak := w.peak(); peak != 1 {
		t.Errorf("%d connections to one BMC at a time", peak)
	}
	eventually(t, "all goroutines end", func() bool { return runtime.NumGoroutine() <= before+2 })
}

// calm ends all faults, tells the fleet the passwords, and waits until everything is well.
func (s *storm) calm() {
	for _, e := range s.rack.Faults() {
		_ = s.rack.ClearFault(e.ID)
	}
	for i := range s.keys {
		s.Ensure(s.spec(i))
	}
	for _, key := range s.keys {
		for _, id := range s.accepted[key] {
			eventually(s.t, "command "+id+" ends", func() bool {
				status, ok := s.Command(key, id)
				return !ok || status.State.Ended()
			})
			if status, ok := s.Command(key, id); ok {
				s.out.show(status)
			}
		}
		s.until(key, "recovery", func(o fleet.Observation) bool { return o.Err == nil && o.Circuit == fleet.CircuitClosed })
	}
}

// reveal looks for the password in everything.
func (s *storm) reveal(o fleet.Options) {
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(s.Fleet); err != nil {
		s.t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	s.out.show(families)
	for i, key := range s.keys {
		observation, _ := s.Observe(key)
		s.out.show(observation)
		s.out.show(s.spec(i))
	}
	s.out.show(o)
	text := s.out.String()
	if at := strings.Index(text, marker); at >= 0 || len(text) < 10_000 {
		s.t.Errorf("%d bytes of output, with a password: …%s…", len(text), text[max(0, at-300):max(0, min(len(text), at+100))])
	}
}
