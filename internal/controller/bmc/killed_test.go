package bmc

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/rotation"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

var errDead = errors.New("the process is dead")

// leap is a clock that a test sets forward where the controller would wait.
type leap struct {
	clock.RealClock
	ahead atomic.Int64
}

func (l *leap) Now() time.Time                  { return time.Now().Add(time.Duration(l.ahead.Load())) }
func (l *leap) Since(t time.Time) time.Duration { return l.Now().Sub(t) }

// mortal is a process that dies at a moment: a write to the API or a request to the BMC. It dies before it, or when all is
// done and before it has heard of it.
type mortal struct {
	mu          sync.Mutex
	left        int // moments before it dies; negative: it lives on
	heard       bool
	dead        bool
	died        chan struct{}
	connections []net.Conn
}

func newMortal(moments int, heard bool) *mortal {
	return &mortal{left: moments, heard: heard, died: make(chan struct{})}
}

// moment reports whether the process is dead, or dies before what it is about to do, and whether it dies after it.
func (m *mortal) moment() (before, after bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead || m.left < 0 {
		return m.dead, false
	}
	if m.left--; m.left >= 0 {
		return false, false
	}
	if m.heard {
		m.left = 0 // what comes next finds it dead
		return false, true
	}
	m.die()
	return true, false
}

// die is called with m.mu held.
func (m *mortal) die() {
	if m.dead {
		return
	}
	m.dead = true
	close(m.died)
	for _, c := range m.connections {
		_ = c.Close()
	}
}

func (m *mortal) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.die()
}

func (m *mortal) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		_ = c.Close()
		return nil, errDead
	}
	m.connections = append(m.connections, c)
	return &mortalConn{Conn: c, of: m}, nil
}

// mortalConn is a connection of a process that dies: each request is a moment.
type mortalConn struct {
	net.Conn
	of   *mortal
	last atomic.Bool
}

func (c *mortalConn) Write(b []byte) (int, error) {
	before, after := c.of.moment()
	if before {
		return 0, errDead
	}
	c.last.Store(after)
	return c.Conn.Write(b)
}

func (c *mortalConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.last.Load() {
		c.of.end()
		return 0, errDead
	}
	return n, err
}

// killing is a BMC of a simulated rack whose account locks after three wrong passwords, and a controller that is killed.
type killing struct {
	t     *testing.T
	api   *controllertest.API
	rack  *sim.Rack
	clock *leap
	lock  string // ID of the fault that locks the account
	// most is the largest number of wrong passwords that one process sent.
	most, lives int
}

const locksAfter = "3"

func newKilling(t *testing.T, vendor sim.Vendor, faults ...fault.Spec) *killing {
	t.Helper()
	k := &killing{t: t, api: controllertest.NewAPI(t), clock: &leap{}}
	ctx, cancel := context.WithCancel(context.Background())
	var all []fault.Spec
	for _, f := range faults {
		f.BMCs = []int{1}
		all = append(all, f)
	}
	var err error
	k.rack, err = sim.Start(ctx, sim.Options{
		Servers: 1, Vendors: []sim.Vendor{vendor}, Username: "admin", Password: marker, Seed: 1, Faults: all,
		BootURL: func() string { return "http://127.0.0.1:1/ipxe/" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := k.rack.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	k.forget()
	info := k.rack.BMCs()[0]
	b := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	b.Spec.Access = &metalv1.InlineEndpoint{IP: info.IP.String()}
	b.Spec.Protocol = metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTP, Port: int32(info.Port)}
	b.Spec.BMCSecretRef.Name = "s"
	metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationRotateCredentials)
	k.api.Add(t, b)
	k.api.Add(t, &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"username": []byte("admin"), "password": []byte(marker)}})
	return k
}

// forget has the BMC forget the wrong passwords that it has counted, as BMCs do after some minutes.
func (k *killing) forget() {
	k.t.Helper()
	if k.lock != "" {
		if err := k.rack.ClearFault(k.lock); err != nil {
			k.t.Fatal(err)
		}
	}
	e, err := k.rack.InjectFault(fault.Spec{Kind: fault.AccountLocked, Value: locksAfter, BMCs: []int{1}})
	if err != nil {
		k.t.Fatal(err)
	}
	k.lock = e.ID
}

func (k *killing) read() *metalv1.BMC { return controllertest.Read[metalv1.BMC](k.t, k.api, "b") }

// over reports whether the rotation has come to its end.
func (k *killing) over() bool {
	b := k.read()
	_, asked := b.Annotations[metalv1.AnnotationOperation]
	_, begun := b.Annotations[metalv1.AnnotationOperationStarted]
	return !asked && !begun
}

// live lets a process live until it dies, or until the rotation is over. It reports whether it is.
func (k *killing) live(m *mortal) bool {
	k.t.Helper()
	k.lives++
	before := k.rack.Stats(0).WrongPasswords
	defer func() {
		k.most = max(k.most, k.rack.Stats(0).WrongPasswords-before)
		if refused := k.read().Annotations[metalv1.AnnotationRotationRefused]; refused != "" {
			k.t.Fatalf("life %d: the account is locked, for one of the two passwords was right (%s)", k.lives, refused)
		}
	}()
	transport := bmc.NewTransport(bmc.Options{})
	transport.DialContext = m.dial
	f := fleet.New(fleet.Options{
		Clock: k.clock, FastPoll: 10 * time.Millisecond, RequestTimeout: 20 * time.Second, ShutdownTimeout: 100 * time.Millisecond, Seed: 1,
		NewClient: func(s fleet.Spec) fleet.Client {
			return bmc.NewClient(s.Endpoint, s.Credentials, bmc.Options{Transport: transport, Clock: k.clock, Login: s.Login})
		},
	})
	woken := make(chan struct{}, 1)
	f.Subscribe(func(fleet.Key) {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = f.Run(ctx) })
	defer running.Wait()
	defer cancel()
	defer m.end()
	k.api.Fail = func(verb string, _ runtime.Object) error {
		if verb == controllertest.Get || verb == controllertest.List {
			return nil
		}
		if before, _ := m.moment(); before {
			return errDead
		}
		return nil
	}
	defer func() { k.api.Fail = nil }()
	r := &Reconciler{
		Client: k.api, APIReader: k.api, Namespace: "farrier", Fleet: f, Registry: connection.NewRegistry(f), Recorder: events.NewFakeRecorder(1000), Clock: k.clock,
	}
	deadline := time.After(time.Minute)
	for {
		result, err := r.Reconcile(log.IntoContext(k.t.Context(), logr.Discard()), request("b"))
		select {
		case <-m.died:
			return false
		default:
		}
		if k.over() {
			return true
		}
		if k.read().Annotations[metalv1.AnnotationRotationRefused] != "" {
			return false
		}
		if err != nil {
			continue // a conflict
		}
		select {
		case <-woken:
		case <-m.died:
			return false
		case <-time.After(20 * time.Millisecond): // nothing comes of itself
			if result.RequeueAfter > rotation.CheckEvery { // a pause; otherwise the BMC is only slow
				k.clock.ahead.Add(int64(result.RequeueAfter))
			}
			if result.RequeueAfter > rotation.Rest/2 && k.read().Annotations[metalv1.AnnotationRotationRefused] == "" {
				k.forget()
			}
		case <-deadline:
			b := k.read()
			k.t.Fatalf("not over within a minute: %v, %+v", b.Annotations, b.Status.Conditions)
		}
	}
}

// check says what no death may lead to.
func (k *killing) check(what string) {
	k.t.Helper()
	secret := controllertest.Read[metalv1.BMCSecret](k.t, k.api, k.read().Spec.BMCSecretRef.Name)
	b := k.read()
	rotated := is(metalv1.ConditionRotated, metav1.ConditionTrue)(b)
	if !rotated || len(secret.Data) != 2 || string(secret.Data["password"]) == marker {
		k.t.Errorf("%s: rotated: %v; the secret has %d keys; conditions %+v", what, rotated, len(secret.Data), b.Status.Conditions)
	}
	if k.most > 1 {
		k.t.Errorf("%s: a process sent %d wrong passwords", what, k.most)
	}
}

// ways are BMCs that are logged in to in different ways.
var ways = map[string]struct {
	vendor sim.Vendor
	faults []fault.Spec
	// stride is how many moments apart a process dies that is to die at each of them. What differs between makes is between few of them.
	stride int
}{
	"standard":         {sim.Standard, nil, 1},
	"Dell":             {sim.Dell, nil, 5},
	"HPE":              {sim.HPE, nil, 5},
	"Lenovo":           {sim.Lenovo, nil, 5},
	"Supermicro":       {sim.Supermicro, nil, 5},
	"AMI":              {sim.AMI, nil, 5},
	"no sessions":      {sim.Standard, []fault.Spec{{Kind: fault.NoSessions}}, 2},
	"no sessions, 401": {sim.Standard, []fault.Spec{{Kind: fault.NoSessions, Value: "401"}}, 3},
	"refuses sessions": {sim.Standard, []fault.Spec{{Kind: fault.SessionsRefused}}, 2},
	"no token":         {sim.Standard, []fault.Spec{{Kind: fault.NoToken}}, 3},
}

// TestAProcessSendsOneWrongPasswordAtMost: it dies at each moment of a rotation, and the next one ends it.
func TestAProcessSendsOneWrongPasswordAtMost(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, heard := range []bool{false, true} {
				for moments := 0; ; moments += way.stride {
					k := newKilling(t, way.vendor, way.faults...)
					over := k.live(newMortal(moments, heard))
					for !over {
						over = k.live(newMortal(-1, false))
					}
					k.check(name)
					if t.Failed() {
						t.Fatalf("it died after %d moments (heard: %v)", moments, heard)
					}
					if k.lives == 1 {
						break // there are no more
					}
				}
			}
		})
	}
}

// TestAnAccountDoesNotLockHoweverOftenProcessesAreKilled: each dies soon after it has begun to ask, at moments of chance.
func TestAnAccountDoesNotLockHoweverOftenProcessesAreKilled(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(3) {
				chance := rand.New(rand.NewPCG(seed, 1))
				k := newKilling(t, way.vendor, way.faults...)
				over := k.live(newMortal(15+chance.IntN(40), chance.IntN(2) == 0)) // it comes as far as to the order, or nearly so
				for i := 0; i < 20 && !over; i++ {
					over = k.live(newMortal(chance.IntN(14), chance.IntN(2) == 0))
				}
				for !over {
					over = k.live(newMortal(-1, false))
				}
				k.check(name)
				if t.Failed() {
					t.Fatalf("seed %d, %d lives", seed, k.lives)
				}
			}
		})
	}
}
