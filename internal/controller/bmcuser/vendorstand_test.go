package bmcuser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// patience is a limit against hanging, not a measurement: the machine runs other tests beside this one.
const patience = 3 * time.Minute

// adminPassword is the password of the account that the fleet logs in with.
const adminPassword = "Operator-Only-77"

// vendorStand is the controller before one simulated BMC of a vendor.
type vendorStand struct {
	*controllertest.API
	*Reconciler
	rack    *sim.Rack
	key     fleet.Key
	info    sim.BMCInfo
	clock   *skewed
	changed chan struct{}
	heard   *transcript
	end     func() // of the process
}

// skewed is the real clock, and may be put forward.
type skewed struct {
	clock.RealClock
	by atomic.Int64
}

func (c *skewed) Now() time.Time                  { return c.RealClock.Now().Add(time.Duration(c.by.Load())) }
func (c *skewed) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *skewed) forward(d time.Duration)         { c.by.Add(int64(d)) }

// eachVendor runs a test before a BMC of each vendor that the simulator knows.
func eachVendor(t *testing.T, test func(*testing.T, *vendorStand)) {
	t.Helper()
	for _, vendor := range sim.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			t.Parallel()
			test(t, newVendorStand(t, vendor))
		})
	}
}

func newVendorStand(t *testing.T, vendor sim.Vendor) *vendorStand {
	t.Helper()
	s := &vendorStand{API: controllertest.NewAPI(t), clock: &skewed{}, changed: make(chan struct{}, 1), heard: &transcript{sent: map[string]bool{}}}
	s.startVendorRack(t, vendor)
	s.API.Logger, s.API.Fail = s.heard.logger(), s.heard.write
	s.begin()
	t.Cleanup(func() { s.end() })
	s.Add(t, &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "b0"}})
	return s
}

// begin makes fleet and controller, as a process does that has just started.
func (s *vendorStand) begin() {
	f := fleet.New(fleet.Options{Clock: s.clock, FastPoll: 50 * time.Millisecond, PollInterval: 200 * time.Millisecond, Logger: s.API.Logger})
	registry := connection.NewRegistry(f)
	f.Subscribe(func(key fleet.Key) {
		o, _ := f.Observe(key)
		s.heard.say("observation", fmt.Sprintf("%v %+v %#v", o, o, o.Err))
		select {
		case s.changed <- struct{}{}:
		default:
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	s.end = func() { cancel(); <-done }
	s.key = f.Ensure(fleet.Spec{Endpoint: s.endpoint(), Credentials: bmc.Credentials{Username: "admin", Password: adminPassword}})
	s.Reconciler = &Reconciler{
		Client: s.API, APIReader: s.API, Namespace: "farrier", Fleet: f, Registry: registry, Recorder: s.heard, Clock: s.clock,
		KeyOf: func(string) (fleet.Key, bool) { return s.key, true },
	}
}

// restart ends the process and begins another, which remembers nothing.
func (s *vendorStand) restart() {
	s.end()
	s.begin()
}

// wait returns when the fleet has news, or after a moment.
func (s *vendorStand) wait() {
	again := time.NewTimer(20 * time.Millisecond) // what time alone brings about wakes nobody here
	defer again.Stop()
	select {
	case <-s.changed:
	case <-again.C:
	}
}

func (s *vendorStand) startVendorRack(t *testing.T, vendor sim.Vendor) {
	t.Helper()
	var err error
	s.rack, err = sim.Start(t.Context(), sim.Options{
		Servers: 1, Address: "127.0.0.1:0", Username: "admin", Password: adminPassword, Vendors: []sim.Vendor{vendor}, Clock: s.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.rack.Stop(context.WithoutCancel(t.Context())) })
	s.info = s.rack.BMCs()[0]
	s.rack.SetFault(0, sim.FaultFunc(func(r *http.Request) sim.Effect {
		s.heard.request(r)
		return sim.EffectNone
	}))
}

func (s *vendorStand) endpoint() bmc.Endpoint {
	return bmc.Endpoint{Scheme: "http", Host: s.info.IP.String(), Port: s.info.Port}
}

// asAdmin asks the BMC something with another session of the administrator's.
func (s *vendorStand) asAdmin(t *testing.T, ask func(*bmc.Client) error) {
	t.Helper()
	c := bmc.NewClient(s.endpoint(), bmc.Credentials{Username: "admin", Password: adminPassword}, bmc.Options{Clock: s.clock})
	err := ask(c)
	_ = c.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
}

// accounts are those that the BMC has, empty slots left out.
func (s *vendorStand) accounts(t *testing.T) (named []bmc.Account) {
	t.Helper()
	s.asAdmin(t, func(c *bmc.Client) error {
		all, err := c.Accounts(t.Context())
		for _, a := range all {
			if a.Username != "" {
				a.ETag = ""
				named = append(named, a)
			}
		}
		return err
	})
	return named
}

// takes reports whether the BMC lets the user in with a password.
func (s *vendorStand) takes(t *testing.T, password bmc.Secret) bool {
	t.Helper()
	var err error
	s.asAdmin(t, func(c *bmc.Client) error {
		err = c.Verify(t.Context(), bmc.Credentials{Username: "monitoring", Password: password})
		return nil
	})
	if err != nil && bmc.KindOf(err) != bmc.KindAuthentication {
		t.Fatal(err)
	}
	return err == nil
}

func (s *vendorStand) inject(t *testing.T, kind fault.Kind, value string) (end func()) {
	t.Helper()
	e, err := s.rack.InjectFault(fault.Spec{Kind: kind, Value: value, BMCs: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := s.rack.ClearFault(e.ID); err != nil {
			t.Error(err)
		}
	}
}

func (s *vendorStand) user(t *testing.T) *metalv1.BMCUser {
	t.Helper()
	return controllertest.Read[metalv1.BMCUser](t, s.API, "u0")
}

func (s *vendorStand) ask(t *testing.T, operation string) {
	t.Helper()
	controllertest.Change(t, s.API, "u0", func(u *metalv1.BMCUser) {
		metav1.SetMetaDataAnnotation(&u.ObjectMeta, metalv1.AnnotationOperation, operation)
	})
}

// secrets are all BMCSecrets there are.
func (s *vendorStand) secrets(t *testing.T) []metalv1.BMCSecret {
	t.Helper()
	var list metalv1.BMCSecretList
	if err := s.API.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// until reconciles, whenever the fleet has news or some time has passed, until a condition holds.
func (s *vendorStand) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		if !controllertest.Gone[metalv1.BMCUser](t, s.API, "u0") {
			s.Settle(t, s.Reconciler, "u0")
		}
		if ok() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s; the BMCUser is %+v", what, patience, s.user(t))
		}
		s.wait()
	}
}

// says waits for the reason of a condition.
func (s *vendorStand) says(t *testing.T, kind string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	s.until(t, kind+"="+reason, func() bool {
		for _, c := range s.user(t).Status.Conditions {
			if c.Type == kind {
				return c.Status == status && c.Reason == reason
			}
		}
		return false
	})
}

// transcript is all that was logged, told and written, and every password that the BMC was sent.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
	sent map[string]bool
}

func (h *transcript) say(prefix, line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.WriteString(prefix + " " + line + "\n")
}

// logger logs everything that there is to log.
func (h *transcript) logger() logr.Logger { return funcr.New(h.say, funcr.Options{Verbosity: 10}) }

// Eventf makes the transcript an event recorder.
func (h *transcript) Eventf(_, _ runtime.Object, kind, reason, action, note string, args ...any) {
	h.say("event", fmt.Sprintf("%s %s %s ", kind, reason, action)+fmt.Sprintf(note, args...))
}

// write keeps what is written into the API. Of a BMCSecret, where passwords belong, it keeps the metadata.
func (h *transcript) write(verb string, obj runtime.Object) error {
	if verb == controllertest.Get || verb == controllertest.List {
		return nil
	}
	var kept any = obj
	if secret, ok := obj.(*metalv1.BMCSecret); ok {
		kept = secret.ObjectMeta
	}
	text, err := json.Marshal(kept)
	if o, ok := obj.(client.Object); ok && err == nil {
		h.say(verb+" "+o.GetName(), string(text))
	}
	return err
}

// request keeps the passwords of a request to the BMC.
func (h *transcript) request(r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(text))
	var body struct{ Password string }
	_ = json.Unmarshal(text, &body)
	_, basic, _ := r.BasicAuth()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent[body.Password], h.sent[basic] = true, true
}

// secretive checks that no password that the BMC was sent is in the transcript, neither as it is nor as JSON has it.
func (h *transcript) secretive(t *testing.T, atLeast int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sent, "")
	if len(h.sent) < atLeast {
		t.Errorf("the BMC was sent %d passwords, want %d or more", len(h.sent), atLeast)
	}
	for line := range strings.Lines(h.text.String()) {
		for password := range h.sent {
			quoted, _ := json.Marshal(password)
			if strings.Contains(line, password) || strings.Contains(line, strings.Trim(string(quoted), `"`)) {
				t.Errorf("a password is told: %.300s", line)
			}
		}
	}
}

// has reports whether a line has all parts.
func (h *transcript) has(parts ...string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for line := range strings.Lines(h.text.String()) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return true
		}
	}
	return false
}
