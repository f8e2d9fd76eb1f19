package rolloutpolicy

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/rollout"
)

// TestWaves: canaries, a time to bake, and the rest as the budget allows.
func TestWaves(t *testing.T) {
	s := newFixture(t, 12, farrierv1.RolloutPolicySpec{MaxUnavailable: fleetOf("4"), Waves: []farrierv1.Wave{{UpTo: *amount("2"), Bake: "1h"}}})
	if n := s.goes(t, ""); n != 2 {
		t.Fatalf("%d canaries began, want 2", n)
	}
	if r := s.says(t, "settings"); r.Wave != 2 || r.Waves != 2 || r.Reason != string(rollout.Baking) || r.Completed != 2 || r.Waiting != 10 || r.Targets != 12 {
		t.Errorf("after the canaries: %+v", r)
	}
	after := s.decides(t)
	if len(s.open(t)) > 0 || after <= 0 || after > time.Hour {
		t.Errorf("while it bakes %d may begin; looked at again after %s", len(s.open(t)), after)
	}
	s.API.Clock.Step(time.Hour)
	for want := range slices.Values([]int{4, 4, 2}) {
		if n := s.goes(t, ""); n != want {
			t.Errorf("%d began, want %d", n, want)
		}
	}
	if r := s.says(t, "settings"); r.Reason != farrierv1.ReasonCompleted || r.Completed != 12 || r.Waiting+r.InProgress+r.Failed != 0 {
		t.Errorf("at the end: %+v", r)
	}
	if want := []string{eventWave, eventWave}; !slices.Equal(s.told, want) {
		t.Errorf("told %v, want %v", s.told, want)
	}
	writes := len(s.Writes(""))
	if s.decides(t); len(s.Writes("")) != writes {
		t.Errorf("a rollout that is done writes: %v", s.Writes("")[writes:])
	}
}

// TestCanariesStandApart: the first of all stand in racks and zones of their own.
func TestCanariesStandApart(t *testing.T) {
	s := newFixture(t, 24, farrierv1.RolloutPolicySpec{Waves: []farrierv1.Wave{{UpTo: *amount("2")}}})
	s.decides(t)
	var names []string
	for _, c := range s.open(t) {
		names = append(names, c.Spec.ServerRef.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"s000", "s012"}) {
		t.Errorf("canaries are %v, want one of each zone", names)
	}
}

// TestBudgets: of the fleet, of zones and of racks, less what is unavailable for other reasons.
func TestBudgets(t *testing.T) {
	for name, tt := range map[string]struct {
		budget farrierv1.MaxUnavailable
		broken []int
		want   int
	}{
		"nothing bounds it":   {want: 24},
		"fleet":               {budget: fleetOf("5"), want: 5},
		"percent":             {budget: fleetOf("25%"), want: 6},
		"less what is ill":    {budget: fleetOf("5"), broken: []int{0, 9}, want: 3},
		"all ill":             {budget: fleetOf("2"), broken: []int{0, 9}, want: 0},
		"rack":                {budget: farrierv1.MaxUnavailable{Rack: amount("1")}, want: 6},
		"rack with one ill":   {budget: farrierv1.MaxUnavailable{Rack: amount("1")}, broken: []int{0}, want: 5},
		"zone":                {budget: farrierv1.MaxUnavailable{Zone: amount("3")}, want: 6},
		"all of them":         {budget: farrierv1.MaxUnavailable{Fleet: amount("5"), Zone: amount("3"), Rack: amount("1")}, want: 5},
		"all but what is ill": {broken: []int{3}, want: 23},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t, 24, farrierv1.RolloutPolicySpec{MaxUnavailable: tt.budget})
			for _, i := range tt.broken {
				s.serverIs(t, serverName(i), metalv1.ServerStateError)
			}
			s.decides(t)
			if open := s.open(t); len(open) != tt.want {
				t.Errorf("%d begin, want %d", len(open), tt.want)
			}
		})
	}
}

// TestFailuresStopIt, and a person who has looked at them lets it go on.
func TestFailuresStopIt(t *testing.T) {
	s := newFixture(t, 12, farrierv1.RolloutPolicySpec{
		MaxUnavailable: fleetOf("2"), FailureLimit: amount("2"), FailureLimits: []farrierv1.FailureLimit{{Reason: "MachineDidNotStart", Limit: 1}},
	})
	s.goes(t, "")
	s.decides(t)
	s.ends(t, &s.open(t)[0], "MachineDidNotStart")
	s.decides(t)
	if r := s.says(t, "settings"); r.Reason != string(rollout.FailureLimit) && r.InProgress == 0 || r.Failed != 1 || !strings.Contains(r.Message, "MachineDidNotStart") {
		t.Errorf("after one that did not start: %+v", r)
	}
	if !slices.Contains(s.told, eventHeld) {
		t.Errorf("told %v", s.told)
	}
	s.ends(t, &s.open(t)[0], "")
	if s.decides(t); len(s.open(t)) != 0 {
		t.Fatal("another begins after the limit of failures")
	}
	controllertest.Change(t, s.API, "settings", func(set *metalv1.BIOSSettingsSet) {
		set.Annotations[metalv1.AnnotationFailuresAccepted] = rolloutpermit.Accept(set, 1)
	})
	if s.decides(t); len(s.open(t)) != 2 {
		t.Errorf("%d begin after the failure was accepted, want 2", len(s.open(t)))
	}
}

// TestPauseAndAbort: what has begun ends; an abort takes back what has not begun.
func TestPauseAndAbort(t *testing.T) {
	s := newFixture(t, 12, farrierv1.RolloutPolicySpec{MaxUnavailable: fleetOf("3")})
	says := func(word string) {
		controllertest.Change(t, s.API, "settings", func(set *metalv1.BIOSSettingsSet) {
			if delete(set.Annotations, metalv1.AnnotationRollout); word != "" {
				set.Annotations[metalv1.AnnotationRollout] = word
			}
		})
		s.decides(t)
	}
	s.decides(t)
	s.begins(t, &s.open(t)[0])
	for word, want := range map[string]rollout.Reason{metalv1.RolloutPaused: rollout.Paused, "pasued": rollout.Paused} {
		if says(word); len(s.open(t)) != 3 || s.says(t, "settings").Reason != string(want) {
			t.Errorf("%s: %d permits, %+v", word, len(s.open(t)), s.says(t, "settings"))
		}
	}
	if says(metalv1.RolloutAborted); len(s.open(t)) != 1 || s.says(t, "settings").Reason != string(rollout.Aborted) {
		t.Errorf("aborted: %d permits, %+v", len(s.open(t)), s.says(t, "settings"))
	}
	s.ends(t, &s.open(t)[0], "")
	if s.decides(t); len(s.open(t)) != 0 {
		t.Error("another begins after an abort")
	}
	if says(""); len(s.open(t)) != 3 {
		t.Errorf("%d begin again, want 3", len(s.open(t)))
	}
}

// TestAPolicyThatIsPausedOrCannotBeRead lets nothing begin, and says why; nor does one that does not exist.
func TestAPolicyThatIsPausedOrCannotBeRead(t *testing.T) {
	for name, tt := range map[string]struct {
		spec   farrierv1.RolloutPolicySpec
		reason string
		ready  string
	}{
		"paused":  {farrierv1.RolloutPolicySpec{Paused: true}, string(rollout.Paused), reasonFollowed},
		"windows": {farrierv1.RolloutPolicySpec{Windows: []farrierv1.MaintenanceWindow{{Start: "0 25 * * *", Duration: "1h"}}}, reasonInvalid, reasonInvalid},
		"zone":    {farrierv1.RolloutPolicySpec{Windows: []farrierv1.MaintenanceWindow{{Start: "0 5 * * *", Duration: "1h", TimeZone: "Europe/Nowhere"}}}, reasonInvalid, reasonInvalid},
		"closed":  {farrierv1.RolloutPolicySpec{Windows: []farrierv1.MaintenanceWindow{{Start: "0 0 29 2 *", Duration: "1m"}}}, string(rollout.WindowClosed), reasonFollowed},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t, 3, tt.spec)
			s.decides(t)
			if r := s.says(t, "settings"); len(s.open(t)) != 0 || r.Reason != tt.reason || r.Waiting != 3 {
				t.Errorf("%d begin: %+v", len(s.open(t)), r)
			}
			p := controllertest.Read[farrierv1.RolloutPolicy](t, s.API, "careful")
			if c := p.Status.Conditions; len(c) != 1 || c[0].Reason != tt.ready {
				t.Errorf("conditions %+v", c)
			}
		})
	}
	s := newFixture(t, 3, farrierv1.RolloutPolicySpec{})
	s.set(t, "other", "missing")
	controllertest.Change(t, s.API, "settings", func(set *metalv1.BIOSSettingsSet) { set.Annotations[metalv1.AnnotationRolloutPolicy] = "missing" })
	s.makes(t)
	if s.decides(t); len(s.open(t)) != 0 {
		t.Error("it begins by a policy that does not exist")
	}
}

// TestTheDefaultPolicy is that of Sets that choose none; "none" is by no policy.
func TestTheDefaultPolicy(t *testing.T) {
	s := newFixture(t, 3, farrierv1.RolloutPolicySpec{})
	controllertest.Change(t, s.API, "settings", func(set *metalv1.BIOSSettingsSet) { set.Annotations = nil })
	s.makes(t)
	has := func(want string) {
		t.Helper()
		for _, c := range s.children(t) {
			if got := c.Annotations[metalv1.AnnotationRolloutPolicy]; got != want {
				t.Errorf("%s goes by %q, want %q", c.Name, got, want)
			}
		}
	}
	has("")
	s.Add(t, &farrierv1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: farrierv1.DefaultRolloutPolicy}})
	s.makes(t)
	has(farrierv1.DefaultRolloutPolicy)
	controllertest.Change(t, s.API, "settings", func(set *metalv1.BIOSSettingsSet) {
		set.Annotations = map[string]string{metalv1.AnnotationRolloutPolicy: rolloutpermit.NoPolicy}
	})
	s.makes(t)
	has("")
}

// TestANewTemplateIsAnotherChange: what was done counts no more, and canaries come first again.
func TestANewTemplateIsAnotherChange(t *testing.T) {
	s := newFixture(t, 6, farrierv1.RolloutPolicySpec{Waves: []farrierv1.Wave{{UpTo: *amount("1")}}})
	s.goes(t, "")
	s.goes(t, "")
	controllertest.Change(t, s.API, "settings", func(set *metalv1.BIOSSettingsSet) { set.Spec.BIOSSettingsTemplate.Version = "2" })
	s.makes(t)
	if s.decides(t); len(s.open(t)) != 1 {
		t.Errorf("%d begin the new change, want a canary", len(s.open(t)))
	}
}

// TestWhatHasItAlreadyIsNoCanary: a target that had what is asked for tries nothing.
func TestWhatHasItAlreadyIsNoCanary(t *testing.T) {
	s := newFixture(t, 6, farrierv1.RolloutPolicySpec{Waves: []farrierv1.Wave{{UpTo: *amount("1"), Bake: "1h"}}})
	children := s.children(t)
	for _, c := range children[:4] {
		s.childIs(t, c.Name, metalv1.BIOSSettingsStateApplied, "SettingsApplied")
	}
	s.childIs(t, children[4].Name, metalv1.BIOSSettingsStatePending, "ReadingSettings")
	s.decides(t)
	if open := s.open(t); len(open) != 1 || open[0].Name != children[5].Name {
		t.Errorf("%d begin", len(open))
	}
	if r := s.says(t, "settings"); r.Completed != 4 || r.InProgress != 1 || r.Waiting != 1 {
		t.Errorf("%+v", r)
	}
}

// TestAServerThatDoesNotReturn is a failure once its time is over, and none any more when it returns.
func TestAServerThatDoesNotReturn(t *testing.T) {
	s := newFixture(t, 6, farrierv1.RolloutPolicySpec{MaxUnavailable: fleetOf("1"), FailureLimit: amount("1"), ReturnTimeout: "30m"})
	s.decides(t)
	c := s.open(t)[0]
	s.begins(t, &c)
	s.childIs(t, c.Name, metalv1.BIOSSettingsStateApplied, "SettingsApplied")
	if after := s.decides(t); after <= 0 || after > 30*time.Minute || s.says(t, "settings").InProgress != 1 {
		t.Errorf("before its time is over: looked at again after %s, %+v", after, s.says(t, "settings"))
	}
	s.API.Clock.Step(30 * time.Minute)
	if s.decides(t); s.says(t, "settings").Failed != 1 || s.says(t, "settings").Reason != string(rollout.FailureLimit) {
		t.Errorf("when its time is over: %+v", s.says(t, "settings"))
	}
	s.ends(t, &c, "")
	if s.decides(t); s.says(t, "settings").Failed != 0 || len(s.open(t)) != 1 {
		t.Errorf("when it has returned: %+v", s.says(t, "settings"))
	}
}

// TestTroubleHoldsTheNextWave for as long as it lasts.
func TestTroubleHoldsTheNextWave(t *testing.T) {
	s := newFixture(t, 6, farrierv1.RolloutPolicySpec{Waves: []farrierv1.Wave{{UpTo: *amount("1"), Bake: "1m"}}})
	s.decides(t)
	c := s.open(t)[0]
	s.begins(t, &c)
	s.ends(t, &c, "")
	s.decides(t)
	troubled := func(status metav1.ConditionStatus) {
		controllertest.ChangeStatus(t, s.API, c.Spec.ServerRef.Name, func(server *metalv1.Server) {
			server.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionReady, Status: status, Reason: "X", LastTransitionTime: metav1.NewTime(s.API.Clock.Now())}}
		})
		s.API.Clock.Step(time.Hour)
		s.decides(t)
	}
	if troubled(metav1.ConditionFalse); len(s.open(t)) != 0 || s.says(t, "settings").Reason != string(rollout.Unwell) {
		t.Errorf("with a canary in trouble: %+v", s.says(t, "settings"))
	}
	if troubled(metav1.ConditionTrue); len(s.open(t)) != 5 {
		t.Errorf("afterwards %d begin, want 5", len(s.open(t)))
	}
}

// TestTwoChangesShareTheFleet: each counts what the other has begun, in one decision too.
func TestTwoChangesShareTheFleet(t *testing.T) {
	s := newFixture(t, 12, farrierv1.RolloutPolicySpec{MaxUnavailable: fleetOf("3")})
	for i := range 4 {
		c := &metalv1.BIOSVersion{ObjectMeta: metav1.ObjectMeta{Name: serverName(i), Annotations: map[string]string{metalv1.AnnotationRolloutPolicy: "careful"}}}
		c.Spec.ServerRef = &metalv1.LocalObjectReference{Name: serverName(i)}
		s.Add(t, c)
		controllertest.ChangeStatus(t, s.API, c.Name, func(c *metalv1.BIOSVersion) {
			c.Status.State, c.Status.ObservedGeneration = metalv1.VersionStatePending, c.Generation
			c.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: metalv1.ReasonWaitingForRollout, LastTransitionTime: metav1.NewTime(s.API.Clock.Now())}}
		})
	}
	s.decides(t)
	var versions metalv1.BIOSVersionList
	if err := s.List(t.Context(), &versions); err != nil {
		t.Fatal(err)
	}
	away := map[string]bool{}
	for _, c := range s.open(t) {
		away[c.Spec.ServerRef.Name] = true
	}
	for _, c := range versions.Items {
		if rolloutpermit.Of(&c).Open() {
			away[c.Spec.ServerRef.Name] = true
		}
	}
	if len(away) != 3 {
		t.Errorf("%d servers may become unavailable, want 3: %v", len(away), away)
	}
}

// TestAPermitThatMayHaveBeenWrittenCounts until the API says otherwise.
func TestAPermitThatMayHaveBeenWrittenCounts(t *testing.T) {
	for name, stored := range map[string]bool{"written": true, "not written": false} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t, 6, farrierv1.RolloutPolicySpec{MaxUnavailable: fleetOf("1")})
			s.r.Client = unsure{s.Lagging(t, &metalv1.BIOSSettingsList{}), stored}
			s.API.Clock.Step(decideEvery)
			if _, err := s.r.Reconcile(t.Context(), controllertestRequest()); err == nil {
				t.Fatal("a write of which nobody knows is no error")
			}
			if n := len(s.open(t)); n > 1 || (n == 1) != stored {
				t.Fatalf("%d permits were written", n)
			}
			s.r.Client = s.API
			if s.decides(t); len(s.open(t)) != 1 {
				t.Errorf("%d permits afterwards, want 1", len(s.open(t)))
			}
		})
	}
}

// unsure is an API whose answers to writes are lost.
type unsure struct {
	client.Client
	stored bool
}

func (u unsure) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if u.stored {
		if err := u.Client.Patch(ctx, obj, patch, opts...); err != nil {
			return err
		}
	}
	return errors.New("connection reset by peer")
}

// TestNothingIsDecidedWithoutAPolicy: who has none pays for none.
func TestNothingIsDecidedWithoutAPolicy(t *testing.T) {
	s := newFixture(t, 3, farrierv1.RolloutPolicySpec{})
	s.Remove(t, &farrierv1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "careful"}})
	s.Fail = func(verb string, obj runtime.Object) error {
		if _, is := obj.(*metalv1.ServerList); is {
			t.Errorf("%s of all servers without a policy", verb)
		}
		return nil
	}
	s.decides(t)
}

// TestWhatASetChangesIsNews: what it asks for, and what it says of its rollout, but not its counters.
func TestWhatASetChangesIsNews(t *testing.T) {
	before := &metalv1.BIOSSettingsSet{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	for name, tt := range map[string]struct {
		change func(*metalv1.BIOSSettingsSet)
		news   bool
	}{
		"template": {func(s *metalv1.BIOSSettingsSet) { s.Generation = 2 }, true},
		"word": {func(s *metalv1.BIOSSettingsSet) {
			s.Annotations = map[string]string{metalv1.AnnotationRollout: "paused"}
		}, true},
		"counters": {func(s *metalv1.BIOSSettingsSet) { s.Status.CompletedBIOSSettings = 7 }, false},
	} {
		now := before.DeepCopy()
		tt.change(now)
		if got := setChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now}); got != tt.news {
			t.Errorf("%s: news %v, want %v", name, got, tt.news)
		}
	}
}
