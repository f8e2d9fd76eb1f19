package childset

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestEveryKind: the engine makes a child for a target, counts it and lets it go, whichever row it works by.
func TestEveryKind(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			a := controllertest.NewAPI(t)
			targets := &Targets{Client: a, Live: a, Kind: kind}
			sets := &Sets{Client: a, Kind: kind, Recorder: &stand{}, Clock: a.Clock}
			target, set := kind.newTarget(), kind.newSet()
			target.SetName("t")
			target.SetLabels(map[string]string{"rack": "r1"})
			set.SetName("s")
			kind.selector(set).MatchLabels = map[string]string{"rack": "r1"}
			a.Add(t, target)
			a.Add(t, set)
			a.Settle(t, sets, "s")
			a.Settle(t, targets, "t")

			child := kind.newChild("")
			if err := a.Get(t.Context(), client.ObjectKey{Name: "s-t"}, child); err != nil {
				t.Fatal(err)
			}
			if kind.targetOf(child) != "t" || !metav1.IsControlledBy(child, set) || kind.outdated(kind.readSet(set), child) != nil || kind.stateOf(child) != pending {
				t.Errorf("the child is %+v", child)
			}
			a.Clock.Step(countEvery)
			a.Settle(t, sets, "s")
			if err := a.Get(t.Context(), client.ObjectKey{Name: "s"}, set); err != nil {
				t.Fatal(err)
			}
			counted, stands := kind.counted(set)
			if want := (counters{targets: 1, available: 1, pending: 1}); counted != want {
				t.Errorf("counters %+v, want %+v", counted, want)
			}
			controllertest.Says(t, *stands.conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonProgress, "0 of 1 selected "+kind.Target+"s")
			if !controllerutil.ContainsFinalizer(set, kind.finalizer) {
				t.Errorf("finalizers %v", set.GetFinalizers())
			}
			a.Remove(t, set)
			a.Settle(t, targets, "t")
			a.Settle(t, sets, "s")
			if err := a.Get(t.Context(), client.ObjectKey{Name: "s"}, set); client.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("the Set is there still: %v", err)
			}
		})
	}
}

// TestEveryCounterHasItsField: what is counted is what is read back.
func TestEveryCounterHasItsField(t *testing.T) {
	want := counters{1, 2, 3, 4, 5, 6}
	for _, kind := range Kinds() {
		set := kind.newSet()
		kind.count(set, want)
		if got, _ := kind.counted(set); got != want {
			t.Errorf("%s: %+v, want %+v", kind.Name, got, want)
		}
		if set := kind.readSet(set); set.problem != nil || !set.selector.Matches(labels.Set{}) {
			t.Errorf("%s: an empty selector selects nothing", kind.Name)
		}
	}
}

func TestStatesByName(t *testing.T) {
	for name, want := range map[string]state{"": pending, "Pending": pending, "InProgress": inProgress, "Applied": completed, "Completed": completed, "Failed": failed} {
		if got := stateNamed(name); got != want {
			t.Errorf("%q is %d, want %d", name, got, want)
		}
	}
}

// TestAStatusThatIsTakenAwayIsNews: the next count writes it again.
func TestAStatusThatIsTakenAwayIsNews(t *testing.T) {
	for _, kind := range Kinds() {
		before, now := kind.newSet(), kind.newSet()
		for _, set := range []client.Object{before, now} {
			_, stands := kind.counted(set)
			*stands.conditions = []metav1.Condition{{Type: metalv1.ConditionReady}}
		}
		if kind.statusTaken().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now}) {
			t.Errorf("%s: its own report is news", kind.Name)
		}
		_, stands := kind.counted(now)
		*stands.conditions = nil
		if !kind.statusTaken().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now}) {
			t.Errorf("%s: nobody hears that its status was taken away", kind.Name)
		}
	}
}
