package verb

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/test/golden"
)

func fakeAPI(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metalv1.AddToScheme, farrierv1.AddToScheme, corev1.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(objects...).Build()
}

func server(name string, state metalv1.ServerState, power metalv1.PowerState) *metalv1.Server {
	s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u-" + "1"}}
	s.Status.State, s.Status.PowerState = state, power
	return s
}

// reserved is a server with its claim.
func reserved(power metalv1.PowerState) []client.Object {
	s := server("node", metalv1.ServerStateReserved, power)
	s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "team", Name: "web"}
	c := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "claim"}}
	c.Spec.ServerRef, c.Spec.Image, c.Spec.Power = &metalv1.LocalObjectReference{Name: "node"}, "a/b:c", metalv1.PowerOn
	c.Status.Phase = metalv1.ServerClaimPhaseBound
	return []client.Object{s, c}
}

// maintained is a server with its maintenance.
func maintained() []client.Object {
	s := server("node", metalv1.ServerStateMaintenance, metalv1.PowerStateOff)
	s.Annotations = map[string]string{metalv1.AnnotationMaintainedBy: "team/swap@1"}
	s.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "team", Name: "swap"}
	return []client.Object{s, &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "swap"}}}
}

func with(change func(*metalv1.Server), objects ...client.Object) []client.Object {
	change(objects[0].(*metalv1.Server))
	return objects
}

// TestOrders: what each verb does about each server, as the commands of kubectl that do the same, or why not. The file is what a reader of
// docs/cli.md relies on.
func TestOrders(t *testing.T) {
	on := func(ctx context.Context, t Target) ([]Order, error) { return Power(ctx, t, metalv1.PowerOn) }
	off := func(ctx context.Context, t Target) ([]Order, error) { return Power(ctx, t, metalv1.PowerOff) }
	cycle := func(ctx context.Context, t Target) ([]Order, error) {
		return Reset(ctx, t, metalv1.OperationPowerCycleServer, "power cycle")
	}
	wipe := func(ctx context.Context, t Target) ([]Order, error) { return Wipe(ctx, t, "") }
	maintain := func(ctx context.Context, t Target) ([]Order, error) {
		return Maintain(ctx, t, Maintaining{Reason: "disk 3", Policy: metalv1.ServerMaintenancePolicyEnforced, Power: metalv1.PowerOff})
	}
	cordon := func(ctx context.Context, t Target) ([]Order, error) { return Cordon(ctx, t, true) }
	free := server("node", metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	tainted := server("node", metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	tainted.Spec.Taints = []metalv1.Taint{{Key: "x", Effect: metalv1.TaintEffectNoBind}}
	parked := server("node", metalv1.ServerStateParked, metalv1.PowerStateOff)
	cleaning := server("node", metalv1.ServerStateCleanup, metalv1.PowerStateOn)
	kept := with(func(s *metalv1.Server) { s.Status.State = metalv1.ServerStateReleased }, reserved(metalv1.PowerStateOff)...)
	failed := server("node", metalv1.ServerStateError, metalv1.PowerStateOff)
	failed.Annotations = map[string]string{metalv1.AnnotationClaimedBy: "gone"}
	busy := with(func(s *metalv1.Server) { s.Annotations = map[string]string{metalv1.AnnotationOperation: "park"} }, reserved(metalv1.PowerStateOn)...)
	foreign := with(func(s *metalv1.Server) { s.Annotations = nil }, maintained()...)
	cordoned := server("node", metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	cordoned.Spec.Unclaimable = true
	var text strings.Builder
	for _, c := range []struct {
		name    string
		objects []client.Object
		target  Target
		orders  func(context.Context, Target) ([]Order, error)
	}{
		{"power on, claimed", reserved(metalv1.PowerStateOff), Target{Server: "node"}, on},
		{"power off, claimed", reserved(metalv1.PowerStateOn), Target{Server: "node"}, off},
		{"power off, named by its claim", reserved(metalv1.PowerStateOn), Target{Namespace: "team", Claim: "web"}, off},
		{"power off --force, claimed", reserved(metalv1.PowerStateOn), Target{Server: "node"}, ForceOff},
		{"power on, in maintenance", maintained(), Target{Server: "node"}, on},
		{"power on, in maintenance of another operator", foreign, Target{Server: "node"}, on},
		{"power on, free", []client.Object{free}, Target{Server: "node"}, on},
		{"power on, parked", []client.Object{parked}, Target{Server: "node"}, on},
		{"power off, being cleaned", []client.Object{cleaning}, Target{Server: "node"}, off},
		{"power cycle, claimed", reserved(metalv1.PowerStateOn), Target{Server: "node"}, cycle},
		{"power cycle, claimed and off", reserved(metalv1.PowerStateOff), Target{Server: "node"}, cycle},
		{"power cycle, free", []client.Object{free}, Target{Server: "node"}, cycle},
		{"power cycle, with an operation to carry out", busy, Target{Server: "node"}, cycle},
		{"park", []client.Object{free}, Target{Server: "node"}, Park},
		{"unpark", []client.Object{parked}, Target{Server: "node"}, Unpark},
		{"cordon", []client.Object{free}, Target{Server: "node"}, cordon},
		{"release", reserved(metalv1.PowerStateOn), Target{Namespace: "team", Claim: "web"}, Release},
		{"wipe, claimed", reserved(metalv1.PowerStateOn), Target{Server: "node"}, wipe},
		{"wipe, free", []client.Object{tainted}, Target{Server: "node", Namespace: "default"}, wipe},
		{"wipe, cordoned", []client.Object{cordoned}, Target{Server: "node", Namespace: "default"}, wipe},
		{"wipe, released", kept, Target{Server: "node"}, wipe},
		{"wipe, failed", []client.Object{failed}, Target{Server: "node"}, wipe},
		{"wipe, being cleaned", []client.Object{cleaning}, Target{Server: "node"}, wipe},
		{"maintain", []client.Object{free}, Target{Server: "node", Namespace: "default"}, maintain},
		{"maintain --end, without one", []client.Object{free}, Target{Server: "node", Namespace: "default"}, EndMaintenance},
		{"no such server", []client.Object{free}, Target{Server: "nodes"}, Park},
	} {
		c.target.API = fakeAPI(t, c.objects...)
		orders, err := c.orders(t.Context(), c.target)
		text.WriteString("## " + c.name + "\n\n")
		if err != nil {
			text.WriteString("refused: " + err.Error() + "\n\n")
			continue
		}
		var out bytes.Buffer
		if err := (&Runner{Out: &out, Explain: true}).Run(t.Context(), orders...); err != nil {
			t.Fatal(err)
		}
		text.WriteString(out.String() + "\n")
	}
	var out bytes.Buffer
	claiming := Claiming{Namespace: "team", Name: "web", Image: "a/b:c", Power: metalv1.PowerOn, Server: "node", Ignition: []byte("{}"), IgnitionFile: "web.bu", Butane: true, Once: true}
	adding := Adding{Name: "node", IP: "192.0.2.8", Username: "admin", Password: "never printed", Scheme: metalv1.SchemeHTTPS, Labels: map[string]string{"rack": "r1"}}
	if err := (&Runner{Out: &out, Explain: true}).Run(t.Context(), append(Claim(claiming), AddBMC(adding)...)...); err != nil {
		t.Fatal(err)
	}
	text.WriteString("## claim, and add bmc\n\n" + out.String())
	golden.Equal(t, filepath.Join("testdata", "orders.md"), text.String())
}

// TestRunner: how waiting ends, and what is taken back.
func TestRunner(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		look    func(turn int) (bool, string, error)
		noWait  bool
		cancel  bool
		code    int // of the error; 0: none, 1: any, 3: late
		out     string
		undone  bool
		printed string
	}{
		"done at once":   {look: func(int) (bool, string, error) { return true, "", nil }, out: "it is so\n"},
		"done later":     {look: func(turn int) (bool, string, error) { return turn > 3, "waits", nil }, out: "it is so\n", printed: "waits\n"},
		"fails":          {look: func(int) (bool, string, error) { return false, "", boom }, code: 1, undone: true},
		"late":           {look: func(int) (bool, string, error) { return false, "waits", nil }, code: 3, undone: true, printed: "waits\n"},
		"nobody waits":   {look: func(int) (bool, string, error) { return false, "", boom }, noWait: true},
		"is interrupted": {look: func(int) (bool, string, error) { return false, "", nil }, cancel: true, code: 1, undone: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var out, progress bytes.Buffer
			undone, turn := false, 0
			now := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
			err := (&Runner{Out: &out, Progress: &progress, NoWait: c.noWait, Timeout: time.Minute, Clock: stepping{now}}).Run(ctx, Order{
				Write: func(context.Context) error { return nil },
				Look: func(context.Context) (bool, string, error) {
					if turn++; c.cancel {
						cancel()
					}
					return c.look(turn)
				},
				Undo: func(ctx context.Context) error { undone = true; return ctx.Err() },
				Done: func() string { return "it is so" },
			})
			code := 0
			var late *Late
			switch {
			case errors.As(err, &late):
				code = late.ExitAs()
			case err != nil:
				code = 1
			}
			if code != c.code || out.String() != c.out || progress.String() != c.printed || undone != c.undone {
				t.Errorf("error %v, prints %q and %q, undone %v", err, out.String(), progress.String(), undone)
			}
		})
	}
}

// stepping is a clock on which waiting takes no time.
type stepping struct{ *clocktesting.FakeClock }

func (s stepping) After(d time.Duration) <-chan time.Time {
	s.Step(d)
	c := make(chan time.Time, 1)
	c <- s.Now()
	return c
}

// TestOutcomeIsOfThisOperation: how the operation before it has ended, a moment ago, is not taken for its own outcome, which comes late.
func TestOutcomeIsOfThisOperation(t *testing.T) {
	event := func(name, message string) *corev1.Event {
		e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Reason: reasonOperationDone, Message: message}
		e.InvolvedObject.UID = "node-uid"
		e.LastTimestamp = metav1.Now()
		return e
	}
	objects := with(func(s *metalv1.Server) { s.UID = "node-uid" }, reserved(metalv1.PowerStateOn)...)
	api := fakeAPI(t, append(objects, event("first", "Operation power-cycle-server is done"))...)
	o, err := operate(t.Context(), Target{API: api, Server: "node"}, metalv1.OperationHardRestartServer)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done, _, err := o.Look(t.Context()); done || err != nil {
		t.Fatalf("not begun: %v, %v", done, err)
	}
	server := &metalv1.Server{}
	if err := api.Get(t.Context(), client.ObjectKey{Name: "node"}, server); err != nil {
		t.Fatal(err)
	}
	server.Annotations = nil
	if err := api.Update(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	if done, _, err := o.Look(t.Context()); done || err != nil {
		t.Fatalf("carried out, and nobody has said so yet: %v, %v", done, err)
	}
	const want = "Operation hard-restart-server is done"
	if err := api.Create(t.Context(), event("second", want)); err != nil {
		t.Fatal(err)
	}
	if done, _, err := o.Look(t.Context()); !done || err != nil || o.Done() != want {
		t.Errorf("%v, %v: %q, want %q", done, err, o.Done(), want)
	}
}
