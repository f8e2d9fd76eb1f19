package claims

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/farrier-dev/farrier/api"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/claim"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
	"github.com/farrier-dev/farrier/test/seed"
)

// patience is a limit against hanging.
const patience = 4 * time.Minute

// forever is after how many writes a manager ends that does not.
const forever = 1 << 30

// herd is many servers and more claims on a real API, with managers that are ended in the middle.
type herd struct {
	client.Client
	t      *testing.T
	config *rest.Config
	scheme *runtime.Scheme

	// writes counts what managers write, statuses included.
	writes atomic.Int64

	mu    sync.Mutex
	takes int
	// gone are the claims that were deleted, and anew counts those of them whose name another has now.
	gone map[types.UID]bool
	anew int
}

// betray deletes every eighth claim that a server was taken for, before it names that; every other of them is made anew under its name.
// It returns how many it has deleted, if this is one of them.
func (h *herd) betray(server *metalv1.Server) (deleted int, _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.takes++; h.takes%8 != 0 {
		return 0, nil
	}
	ctx, name := h.t.Context(), server.Spec.ServerClaimRef.Name
	uid := types.UID(server.Annotations[metalv1.AnnotationClaimedBy])
	obj := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	if err := h.Delete(ctx, obj, client.Preconditions{UID: &uid}); err != nil {
		return 0, fmt.Errorf("a user deletes claim %s: %w", name, err)
	}
	h.gone[uid] = true
	if h.takes%16 != 0 {
		return len(h.gone), nil
	}
	h.anew++
	if err := h.Create(ctx, newClaim(name)); err != nil {
		return 0, fmt.Errorf("a user makes claim %s anew: %w", name, err)
	}
	return len(h.gone), nil
}

// wanted is how many claims are going to be bound, and told something.
func (h *herd) wanted() (bound, told int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return 500 - len(h.gone), 1000 - len(h.gone) + h.anew
}

func newHerd(t *testing.T, servers, claims int) *herd {
	t.Helper()
	h := &herd{t: t, config: testapi.StartWith(t).RESTConfig(), scheme: runtime.NewScheme(), gone: map[types.UID]bool{}}
	h.config.QPS = -1
	ctrl.SetLogger(logr.Discard())
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, api.AddToScheme} {
		if err := add(h.scheme); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if h.Client, err = client.New(h.config, client.Options{Scheme: h.scheme}); err != nil {
		t.Fatal(err)
	}
	if err := h.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}); err != nil {
		t.Fatal(err)
	}
	h.each(servers, func(i int) error {
		s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%03d", i)}}
		s.Spec.SystemUUID = fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		status := claimable()
		if err := h.Create(t.Context(), s); err != nil {
			return err
		}
		s.Status = status
		return h.Status().Update(t.Context(), s)
	})
	h.each(claims, func(i int) error { return h.Create(t.Context(), newClaim(fmt.Sprintf("c%04d", i))) })
	return h
}

// claimable is what a Server that can be claimed reports.
func claimable() metalv1.ServerStatus {
	return metalv1.ServerStatus{
		State: metalv1.ServerStateAvailable, PowerState: metalv1.PowerStateOff,
		Conditions: []metav1.Condition{{
			Type: metalv1.ConditionClaimable, Status: metav1.ConditionTrue, Reason: metalv1.ReasonClaimable, LastTransitionTime: metav1.Now(),
		}},
	}
}

func newClaim(name string) *metalv1.ServerClaim {
	c := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	c.Spec.Image, c.Spec.Power = "registry/os:1", metalv1.PowerOn
	return c
}

// each does something for many, some at a time.
func (h *herd) each(n int, do func(int) error) {
	h.t.Helper()
	errs := make([]error, 8)
	var all sync.WaitGroup
	for w := range errs {
		all.Go(func() {
			for i := w; i < n && errs[w] == nil; i += len(errs) {
				errs[w] = do(i)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

// mortal ends the process it belongs to after so many writes: the next is sent, and nobody waits for its answer.
type mortal struct {
	client.Client
	mu   sync.Mutex
	left int
	die  context.CancelFunc
	// taken is called right after a server was taken, whether or not that was the end.
	taken func(*metalv1.Server) error
	// writes counts all writes, also those of statuses, which end nothing.
	writes *atomic.Int64
}

func (m *mortal) count() {
	m.writes.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left--; m.left == 0 {
		m.die()
	}
}

func (m *mortal) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	m.count()
	err := m.Client.Patch(ctx, obj, patch, opts...)
	if server, ok := obj.(*metalv1.Server); ok && err == nil && server.Spec.ServerClaimRef != nil {
		err = m.taken(server)
	}
	return err
}

func (m *mortal) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	m.count()
	return m.Client.Create(ctx, obj, opts...)
}

func (m *mortal) Status() client.SubResourceWriter { return counted{m.Client.Status(), m.writes} }

// counted counts the writes to statuses.
type counted struct {
	client.SubResourceWriter
	writes *atomic.Int64
}

func (c counted) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	c.writes.Add(1)
	return c.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

// live is one life of a manager, which ends after so many writes, or with ctx.
func (h *herd) live(ctx context.Context, writes int) error {
	ctx, die := context.WithCancel(ctx)
	defer die()
	mgr, err := ctrl.NewManager(h.config, ctrl.Options{
		Scheme: h.scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(), GracefulShutdownTimeout: ptr.To(time.Duration(0)),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return err
	}
	if err := index.Register(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r := &claim.Reconciler{
		Client: &mortal{Client: mgr.GetClient(), left: writes, die: die, writes: &h.writes, taken: func(server *metalv1.Server) error {
			if deleted, err := h.betray(server); deleted%16 != 5 || writes == forever {
				return err
			}
			die() // neither has anybody seen that
			return nil
		}}, APIReader: mgr.GetAPIReader(), Clock: clock.RealClock{}, Workers: 8,
	}
	if err := r.SetupWithManager(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// count returns how many claims are bound, and fails if anything belongs to two. At the end each has to be of one mind with its server, and
// to have been written to once for it.
func (h *herd) count(end bool) (bound, told int) {
	h.t.Helper()
	var servers metalv1.ServerList
	var claims metalv1.ServerClaimList
	for _, list := range []client.ObjectList{&servers, &claims} {
		if err := h.List(h.t.Context(), list); err != nil {
			h.t.Fatal(err)
		}
	}
	has, exists := map[types.UID]string{}, map[types.UID]string{}
	for i := range claims.Items {
		exists[claims.Items[i].UID] = claims.Items[i].Name
	}
	for i := range servers.Items {
		s := &servers.Items[i]
		owner := types.UID(s.Annotations[metalv1.AnnotationClaimedBy])
		if s.Spec.ServerClaimRef == nil {
			continue
		}
		if other := has[owner]; other != "" && end {
			h.t.Errorf("%s has %s and %s", owner, other, s.Name)
		}
		if end && h.gone[owner] != (exists[owner] == "") {
			h.t.Errorf("%s is of %s, which is called %q", s.Name, owner, exists[owner])
		}
		if has[owner] = s.Name; s.Generation != 2 {
			h.t.Errorf("the spec of %s was written to %d times", s.Name, s.Generation-1)
		}
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		if c.Status.Phase != "" {
			told++
		}
		if c.Status.Phase != metalv1.ServerClaimPhaseBound {
			continue
		}
		bound++
		if end && (c.Spec.ServerRef == nil || has[c.UID] != c.Spec.ServerRef.Name || c.Generation != 2) {
			h.t.Errorf("claim %s of generation %d names %v and has %q", c.Name, c.Generation, c.Spec.ServerRef, has[c.UID])
		}
	}
	return bound, told
}

// booting fails if a boot configuration is of a claim that is gone, or missing.
func (h *herd) booting(bound int) {
	h.t.Helper()
	var configs metalv1.ServerBootConfigurationList
	if err := h.List(h.t.Context(), &configs); err != nil {
		h.t.Fatal(err)
	}
	for i := range configs.Items {
		if owner := metav1.GetControllerOf(&configs.Items[i]); owner == nil || h.gone[owner.UID] {
			h.t.Errorf("boot configuration %s is of %v, which is gone", configs.Items[i].Name, owner)
		}
	}
	if len(configs.Items) != bound {
		h.t.Errorf("%d boot configurations for %d claims", len(configs.Items), bound)
	}
}

// TestExactlyAllServersAreBoundByTheAPI: 1,000 claims, 500 servers, a real API, managers that end in the middle of a write, and claims that are
// deleted when their server was taken. Nobody is there to clean what those had, and so it is nobody's.
func TestExactlyAllServersAreBoundByTheAPI(t *testing.T) {
	random := rand.New(rand.NewPCG(seed.New(t), 0))
	h := newHerd(t, 500, 1000)
	var lives []int
	for range 4 {
		writes := 50 + random.IntN(300) // of 1,400 and more that there are to be
		lives = append(lives, writes)
		if err := h.live(t.Context(), writes); err != nil {
			t.Fatal(err)
		}
		h.count(false)
	}
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- h.live(ctx, forever) }()
	for written, bound, told := int64(-1), 0, 0; ; {
		// To count costs the API more than what it is asked to write, so that is for when nothing is written any more.
		if now := h.writes.Load(); now != written {
			written = now
		} else {
			bound, told = h.count(false)
			if toBind, toTell := h.wanted(); bound == toBind && told == toTell {
				break
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d are bound and %d told, after lives of %v writes", bound, told, lives)
		case <-time.After(200 * time.Millisecond):
		}
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	bound, told := h.count(true)
	h.booting(bound)
	if len(h.gone) < 50 || h.anew < 25 {
		t.Errorf("%d claims were deleted, %d made anew: that tests nothing", len(h.gone), h.anew)
	}
	t.Logf("%d bound, %d told, %d deleted, %d made anew, after lives of %v writes", bound, told, len(h.gone), h.anew, lives)
}
