package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
)

// stand is an API whose writes are throttled.
type stand struct {
	*controllertest.API
	throttle *throttle.Throttle
	client   client.Client
	reporter *throttle.Reporter
	told     []string
}

func newStand(t *testing.T, objects ...client.Object) *stand {
	t.Helper()
	s := &stand{API: controllertest.NewAPI(t, objects...)}
	s.restart()
	return s
}

// restart forgets everything that is not in the API.
func (s *stand) restart() {
	s.throttle = throttle.New(s.API.Clock)
	s.client = s.throttle.Client(s.API, nil)
	s.reporter = &throttle.Reporter{Throttle: s.throttle, Client: s.API, Recorder: s, Clock: s.API.Clock, Logger: logr.Discard()}
}

// Eventf makes the stand an event recorder.
func (s *stand) Eventf(obj, _ runtime.Object, kind, reason, _, note string, args ...any) {
	s.told = append(s.told, fmt.Sprintf("%s %s %s: %s", obj.(client.Object).GetName(), kind, reason, fmt.Sprintf(note, args...)))
}

func server() *metalv1.Server { return &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s"}} }

// patch changes the Server as a controller does.
func (s *stand) patch(t *testing.T, change func(*metalv1.Server)) error {
	t.Helper()
	var obj metalv1.Server
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: "s"}, &obj); err != nil {
		t.Fatal(err)
	}
	before := obj.DeepCopy()
	change(&obj)
	return s.client.Patch(t.Context(), &obj, client.MergeFrom(before))
}

// fight is two controllers, each of which undoes what the other has done. As many stages as that are gone through in turns.
func (s *stand) fight(t *testing.T, stages, i int) error {
	t.Helper()
	return s.patch(t, func(o *metalv1.Server) { o.Spec.SystemURI = fmt.Sprintf("/%d", i%stages) })
}

// minutes makes as many attempts a second as a controller does that is woken by its own writes, and returns how many writes
// came of them, minute by minute.
func (s *stand) minutes(t *testing.T, n int, try func(i int) error) (writes []int) {
	t.Helper()
	for i := 0; len(writes) < n; {
		s.ForgetWrites()
		for range 60 {
			for range 20 {
				err := try(i)
				var paused reconcileerror.Paused
				if err != nil && (!errors.As(err, &paused) || paused.For <= 0 || paused.For > time.Minute) {
					t.Fatalf("%v", err)
				}
				if err == nil {
					i++
				}
			}
			s.API.Clock.Step(time.Second)
		}
		writes = append(writes, len(s.Writes("")))
	}
	return writes
}

// TestALoopIsSlowed: whatever goes round and round costs ten writes a minute after a first burst, however many stages it has.
func TestALoopIsSlowed(t *testing.T) {
	for _, stages := range []int{1, 2, 7, 40} {
		t.Run(fmt.Sprint(stages), func(t *testing.T) {
			s := newStand(t, server())
			writes := s.minutes(t, 20, func(i int) error { return s.fight(t, stages, i) })
			if writes[0] > throttle.Burst/2+stages+throttle.Burst+throttle.PerMinute || slices.Max(writes[1:]) > throttle.PerMinute || slices.Min(writes) == 0 {
				t.Errorf("writes a minute: %v", writes)
			}
		})
	}
}

// TestALoopOfObjects: what is made and deleted again and again is the same as what is written.
func TestALoopOfObjects(t *testing.T) {
	s := newStand(t)
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Server", Name: "s", UID: "1"}
	writes := s.minutes(t, 5, func(i int) error {
		m := &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", OwnerReferences: []metav1.OwnerReference{owner}}}
		if i%2 == 0 {
			return s.client.Create(t.Context(), m)
		}
		return s.client.Delete(t.Context(), m)
	})
	if slices.Max(writes[2:]) > throttle.PerMinute {
		t.Errorf("writes a minute: %v", writes)
	}
}

// TestWhatComesFurtherIsNotSlowed: a server that is claimed and released every second by other claims, each with its boot, is written as
// often as that takes; so is an object that nobody changes much, and each of thousands.
func TestWhatComesFurtherIsNotSlowed(t *testing.T) {
	s := newStand(t, server())
	for cycle := range 120 {
		steps := []func(*metalv1.Server){
			func(o *metalv1.Server) {
				o.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: fmt.Sprintf("claim-%d", cycle)}
			},
			func(o *metalv1.Server) { o.Spec.Power = metalv1.PowerOn },
			func(o *metalv1.Server) { metav1.SetMetaDataAnnotation(&o.ObjectMeta, "step", fmt.Sprint(cycle)) },
			func(o *metalv1.Server) { o.Spec.Power = metalv1.PowerOff },
			func(o *metalv1.Server) { o.Spec.ServerClaimRef = nil },
			func(o *metalv1.Server) { metav1.SetMetaDataAnnotation(&o.ObjectMeta, "step", "none") },
		}
		for i, step := range steps {
			if err := s.patch(t, step); err != nil {
				t.Fatalf("cycle %d, step %d: %v", cycle, i, err)
			}
			s.throttle.Spent(throttle.Account(throttle.KindServer, "s"), 3)
			if wait := s.throttle.Wait(throttle.Account(throttle.KindServer, "s")); wait > 0 {
				t.Fatalf("cycle %d, step %d: its BMC is not asked for %s", cycle, i, wait)
			}
		}
		s.API.Clock.Step(time.Second / 2)
	}
	for range 60 { // as often as an object may be for which nothing changes
		if err := s.patch(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, "beat", s.API.Clock.Now().String())
		}); err != nil {
			t.Fatal(err)
		}
		s.API.Clock.Step(6 * time.Second)
	}
}

// TestRequests: orders of an account that has spent its requests wait, until time has passed or the object has come further.
func TestRequests(t *testing.T) {
	s := newStand(t, server())
	account := throttle.Account(throttle.KindServer, "s")
	for _, each := range []int{1, 3, 5} { // requests of an order
		var spent []int
		for minute := range 20 {
			spent = append(spent, 0)
			for range 60 {
				if s.throttle.Wait(account) == 0 {
					s.throttle.Spent(account, each)
					spent[minute] += each
				}
				s.API.Clock.Step(time.Second)
			}
		}
		if slices.Max(spent[1:]) > throttle.PerMinute || slices.Max(spent[10:]) == 0 {
			t.Errorf("orders of %d: requests a minute: %v", each, spent)
		}
	}
	if s.throttle.Wait(account) == 0 {
		s.throttle.Spent(account, throttle.Burst)
	}
	if s.throttle.Wait(throttle.Account(throttle.KindServer, "another")) != 0 {
		t.Error("another object waits too")
	}
	if err := s.patch(t, func(o *metalv1.Server) { o.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Name: "c"} }); err != nil {
		t.Fatal(err)
	}
	if wait := s.throttle.Wait(account); wait != 0 {
		t.Errorf("it has come further, and waits for %s", wait)
	}
}

// says is the condition Stalled of the Server.
func (s *stand) says(t *testing.T) *metav1.Condition {
	t.Helper()
	return apimeta.FindStatusCondition(controllertest.Read[metalv1.Server](t, s.API, "s").Status.Conditions, metalv1.ConditionStalled)
}

// TestItIsSaid once, by condition, event and metric; and taken back when it is over. Nothing is written where nothing is slowed.
func TestItIsSaid(t *testing.T) {
	s := newStand(t, server())
	if err := s.fight(t, 2, 0); err != nil {
		t.Fatal(err)
	}
	s.reporter.Look(t.Context())
	if s.says(t) != nil || len(s.Writes("")) != 1 {
		t.Fatalf("it is said of an object that was written once: %v", s.Writes(""))
	}
	s.minutes(t, 1, func(i int) error { return s.fight(t, 2, i+1) })
	s.ForgetWrites()
	for range 10 {
		s.reporter.Look(t.Context())
		_ = s.fight(t, 2, 0)
		_ = s.fight(t, 2, 1)
		_ = s.fight(t, 2, 0)
		s.API.Clock.Step(time.Second)
	}
	c := s.says(t)
	if c == nil {
		t.Fatal("it is not said")
	}
	controllertest.Says(t, []metav1.Condition{*c}, metalv1.ConditionStalled, metav1.ConditionTrue, metalv1.ReasonNoProgress, "10 a minute")
	if n := slices.Collect(func(yield func(controllertest.Request) bool) {
		for _, w := range s.Writes("") {
			if w.Verb == controllertest.PatchStatus && !yield(w) {
				return
			}
		}
	}); len(n) != 1 {
		t.Errorf("%d writes of status", len(n))
	}
	if len(s.told) != 1 || !strings.HasPrefix(s.told[0], "s Warning NoProgress: The object was written") {
		t.Errorf("events %q", s.told)
	}
	if err := testutil.CollectAndCompare(s.throttle, strings.NewReader("# HELP farrier_stalled_objects Objects that make no progress and are throttled.\n"+
		"# TYPE farrier_stalled_objects gauge\nfarrier_stalled_objects{kind=\"Server\"} 1\n"), "farrier_stalled_objects"); err != nil {
		t.Error(err)
	}
	for range 5 { // nobody does anything any more
		s.API.Clock.Step(time.Minute)
		s.reporter.Look(t.Context())
	}
	if c := s.says(t); c != nil {
		t.Errorf("it is over, and said still: %+v", c)
	}
	if n := testutil.CollectAndCount(s.throttle, "farrier_stalled_objects"); n != 0 {
		t.Errorf("%d objects are counted still", n)
	}
}

// TestWhatTheProcessBeforeSaid is taken back by one that slows nothing.
func TestWhatTheProcessBeforeSaid(t *testing.T) {
	o := server()
	o.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionStalled, Status: metav1.ConditionTrue, Reason: metalv1.ReasonNoProgress, LastTransitionTime: metav1.Now()}}
	s := newStand(t, o)
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: "s"}, &metalv1.Server{}); err != nil { // its controller looks at it
		t.Fatal(err)
	}
	for range 5 {
		s.reporter.Look(t.Context())
		s.API.Clock.Step(time.Minute)
	}
	if c := s.says(t); c != nil {
		t.Errorf("it is said still: %+v", c)
	}
	if len(s.told) != 0 {
		t.Errorf("events %q", s.told)
	}
}

// TestKindsWithoutConditions are told of by an event, and their contents are read by nobody.
func TestKindsWithoutConditions(t *testing.T) {
	s := newStand(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}})
	s.API.Fail = func(verb string, obj runtime.Object) error {
		if _, secret := obj.(*corev1.Secret); secret && verb == controllertest.Get {
			return errors.New("it was read")
		}
		return nil
	}
	s.minutes(t, 2, func(i int) error {
		return s.client.Update(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}, Data: map[string][]byte{"a": []byte(fmt.Sprint(i))}})
	})
	s.reporter.Look(t.Context())
	if len(s.told) != 1 || !strings.HasPrefix(s.told[0], "x Warning") {
		t.Errorf("events %q", s.told)
	}
}

// TestEveryWayToWriteIsCounted: an object that is overdrawn is written in no way.
func TestEveryWayToWriteIsCounted(t *testing.T) {
	s := newStand(t, server())
	s.minutes(t, 1, func(i int) error { return s.fight(t, 1, i) })
	obj := controllertest.Read[metalv1.Server](t, s.API, "s")
	for s.patch(t, func(*metalv1.Server) {}) == nil {
		continue
	}
	s.ForgetWrites()
	ctx := t.Context()
	for name, write := range map[string]func() error{
		"update":        func() error { return s.client.Update(ctx, obj) },
		"patch":         func() error { return s.client.Patch(ctx, obj, client.MergeFrom(obj.DeepCopy())) },
		"patch status":  func() error { return s.client.Status().Patch(ctx, obj, client.MergeFrom(obj.DeepCopy())) },
		"update status": func() error { return s.client.Status().Update(ctx, obj) },
		"sub-resource":  func() error { return s.client.SubResource("status").Patch(ctx, obj, client.MergeFrom(obj.DeepCopy())) },
	} {
		if err := write(); !errors.As(err, new(reconcileerror.Paused)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(s.Writes("")); n != 0 {
		t.Errorf("%d writes", n)
	}
}

// TestHandled: a reconcile that was refused a write is tried again when it may be, quietly.
func TestHandled(t *testing.T) {
	err := fmt.Errorf("write status: %w", reconcileerror.Paused{For: 5 * time.Second, Err: errors.New("too often")})
	result, err := reconcileerror.Handle(context.Background(), reconcile.Result{}, err)
	if err != nil || result.RequeueAfter != 5*time.Second {
		t.Errorf("%+v, %v", result, err)
	}
}
