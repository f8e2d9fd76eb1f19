package childset

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
)

type object = client.Object

// TestAChildForEachTarget: creation, relabelling and deletion of targets, one after another.
func TestAChildForEachTarget(t *testing.T) {
	s := newStand(t)
	s.Add(t, server("a", "rack=r1"))
	s.Add(t, server("b", "rack=r1"))
	s.Add(t, server("x", "rack=r2"))
	s.Add(t, setOf("set", "r1"))
	s.settle(t)
	s.has(t, "set-a a 1", "set-b b 1")
	s.counts(t, "set", 2, 2, 2, 0, 0, 0)
	s.ready(t, "set", metav1.ConditionFalse, reasonProgress, "0 of 2")
	if !metav1.IsControlledBy(s.child(t, "set-a"), s.set(t, "set")) {
		t.Error("the Set does not control its child")
	}
	s.is(t, "set-a", metalv1.BIOSSettingsStateApplied)
	s.is(t, "set-b", metalv1.BIOSSettingsStateInProgress)
	s.settle(t)
	s.counts(t, "set", 2, 2, 0, 1, 1, 0)
	s.is(t, "set-b", metalv1.BIOSSettingsStateApplied)
	s.settle(t)
	s.ready(t, "set", metav1.ConditionTrue, reasonComplete, "All 2")

	s.Add(t, server("c", "rack=r1"))
	controllertest.Change(t, s.API, "x", func(x *metalv1.Server) { x.Labels["rack"] = "r1" })
	controllertest.Change(t, s.API, "a", func(a *metalv1.Server) { a.Labels["rack"] = "r9" })
	s.settle(t)
	s.has(t, "set-b b 1", "set-c c 1", "set-x x 1")
	s.Remove(t, server("b"))
	s.settle(t)
	s.has(t, "set-c c 1", "set-x x 1")
	s.counts(t, "set", 2, 2, 2, 0, 0, 0)
	controllertest.Change(t, s.API, "set", func(o *metalv1.BIOSSettingsSet) { o.Spec.ServerSelector.MatchLabels["rack"] = "r7" })
	s.settle(t)
	s.has(t)
	s.ready(t, "set", metav1.ConditionTrue, reasonNothing)
}

// TestWhatIsInProgressIsNotDisturbed, neither by a new template nor because its target is selected no more.
func TestWhatIsInProgressIsNotDisturbed(t *testing.T) {
	s := newStand(t)
	for _, name := range []string{"a", "b", "c"} {
		s.Add(t, server(name, "rack=r1"))
	}
	s.Add(t, setOf("set", "r1"))
	s.settle(t)
	s.is(t, "set-a", metalv1.BIOSSettingsStateApplied)
	s.is(t, "set-b", metalv1.BIOSSettingsStateInProgress)
	s.is(t, "set-c", metalv1.BIOSSettingsStateInProgress)
	version := func(v string) {
		controllertest.Change(t, s.API, "set", func(o *metalv1.BIOSSettingsSet) { o.Spec.BIOSSettingsTemplate.Version = v })
	}
	version("2")
	s.settle(t)
	s.has(t, "set-a a 2", "set-b b 1", "set-c c 1")
	s.counts(t, "set", 3, 3, 1, 2, 0, 0) // what a was told before is about another template
	s.ready(t, "set", metav1.ConditionFalse, reasonProgress, "2 have an earlier template")
	controllertest.Change(t, s.API, "c", func(c *metalv1.Server) { c.Labels["rack"] = "r9" })
	s.settle(t)
	s.has(t, "set-a a 2", "set-b b 1", "set-c c 1")
	// The fact alone keeps it, whatever has become of status.
	controllertest.ChangeStatus(t, s.API, "set-c", func(c *metalv1.BIOSSettings) { c.Status = metalv1.BIOSSettingsStatus{} })
	s.settle(t)
	s.has(t, "set-a a 2", "set-b b 1", "set-c c 1")
	s.is(t, "set-b", metalv1.BIOSSettingsStateFailed)
	s.is(t, "set-c", metalv1.BIOSSettingsStateApplied)
	s.settle(t)
	s.has(t, "set-a a 2", "set-b b 2")

	s.is(t, "set-b", metalv1.BIOSSettingsStateInProgress)
	operation[metalv1.BIOSSettingsSet](t, s, "set", metalv1.OperationAllowInProgressUpdate)
	version("3")
	s.settle(t)
	s.has(t, "set-a a 3", "set-b b 3")
	if got := operationOf(s.child(t, "set-b")); got != metalv1.OperationAllowInProgressUpdate {
		t.Errorf("admission would refuse the change: the child asks for %q", got)
	}
	if got := operationOf(s.set(t, "set")); got != metalv1.OperationAllowInProgressUpdate {
		t.Errorf("the operation of the Set ended while a child is in progress: %q", got)
	}
	s.is(t, "set-b", metalv1.BIOSSettingsStateApplied)
	s.settle(t)
	if got := operationOf(s.set(t, "set")); got != "" {
		t.Errorf("the operation of the Set did not end: %q", got)
	}
}

// TestATargetThatGoesInTheMiddle: its child is deleted, and its own controller says when it goes.
func TestATargetThatGoesInTheMiddle(t *testing.T) {
	s := newStand(t)
	s.Add(t, server("a", "rack=r1"))
	s.Add(t, setOf("set", "r1"))
	s.settle(t)
	controllertest.Change(t, s.API, "set-a", func(c *metalv1.BIOSSettings) { c.Finalizers = []string{metalv1.FinalizerBIOSSettings} })
	s.is(t, "set-a", metalv1.BIOSSettingsStateInProgress)
	s.Remove(t, server("a"))
	s.settle(t)
	if s.child(t, "set-a").DeletionTimestamp.IsZero() {
		t.Fatal("its controller is not told to end")
	}
	s.Add(t, server("a", "rack=r1"))
	s.settle(t)
	s.ready(t, "set", metav1.ConditionFalse, reasonProgress)
	controllertest.Change(t, s.API, "set-a", func(c *metalv1.BIOSSettings) { c.Finalizers = nil })
	s.settle(t)
	if c := s.child(t, "set-a"); !c.DeletionTimestamp.IsZero() || c.Annotations[progressKey] != "" {
		t.Error("the server that came back has no new child")
	}
}

// TestNobodyElsesChildIsTouched: those of another Set and of a person stay, and are counted.
func TestNobodyElsesChildIsTouched(t *testing.T) {
	s := newStand(t)
	s.Add(t, server("a", "rack=r1", "row=1"))
	s.Add(t, server("b", "rack=r1"))
	s.Add(t, server("c", "rack=r1"))
	s.Add(t, settingsOf("mine", "b"))
	s.Add(t, setOf("first", "r1", func(o *metalv1.BIOSSettingsSet) { o.Spec.ServerSelector.MatchLabels = map[string]string{"row": "1"} }))
	s.settle(t)
	s.API.Clock.Step(time.Minute)
	s.Add(t, setOf("second", "r1"))
	before := []*metalv1.BIOSSettings{s.child(t, "mine"), s.child(t, "first-a")}
	s.settle(t)
	s.has(t, "first-a a 1", "mine b 9", "second-c c 1")
	s.counts(t, "second", 3, 1, 1, 0, 0, 0)
	s.ready(t, "second", metav1.ConditionFalse, reasonTaken, "2 of 3", `Server "a" has BIOSSettings "first-a" of BIOSSettingsSet "first"`)
	s.ready(t, "first", metav1.ConditionFalse, reasonProgress)
	if diff := cmp.Diff(before, []*metalv1.BIOSSettings{s.child(t, "mine"), s.child(t, "first-a")}); diff != "" {
		t.Errorf("they were touched (-before +after)\n%s", diff)
	}
	s.Remove(t, settingsOf("mine", "b"))
	s.Remove(t, s.set(t, "first"))
	s.settle(t)
	s.has(t, "second-a a 1", "second-b b 1", "second-c c 1")
}

// TestTheOldestOfSeveralSetsGoesFirst.
func TestTheOldestOfSeveralSetsGoesFirst(t *testing.T) {
	s := newStand(t)
	s.Add(t, setOf("z", "r1"))
	s.API.Clock.Step(time.Minute)
	s.Add(t, setOf("a", "r1"))
	s.settle(t)
	s.Add(t, server("s", "rack=r1"))
	s.settle(t)
	s.has(t, "z-s s 1")
	s.ready(t, "a", metav1.ConditionFalse, reasonTaken, `of BIOSSettingsSet "z"`)
}

// TestNames: two Sets and servers whose names run together, names that others have, and long ones.
func TestNames(t *testing.T) {
	s := newStand(t)
	s.Add(t, server("b-c", "rack=r1"))
	s.Add(t, server("c", "rack=r2"))
	s.Add(t, setOf("a", "r1"))
	s.Add(t, setOf("a-b", "r2"))
	s.settle(t)
	_, exact := names("a-b", "c")
	s.has(t, "a-b-c b-c 1", exact+" c 1")

	plain, exact := names("d", "s")
	s.Add(t, settingsOf(plain, "elsewhere"))
	s.Add(t, settingsOf(exact, "elsewhere"))
	s.Add(t, server("s", "rack=r3"))
	s.Add(t, setOf("d", "r3"))
	s.settle(t)
	s.ready(t, "d", metav1.ConditionFalse, reasonName, plain, exact)
	s.Remove(t, settingsOf(plain, "elsewhere"))
	s.settle(t)
	s.ready(t, "d", metav1.ConditionFalse, reasonProgress)

	long := ""
	for len(long) < 200 {
		long += "long-name."
	}
	for _, target := range []string{long + "x", long + "y", long[:150] + "z"} {
		one, other := names(long+"set", target)
		if len(one) > longestName || len(other) > longestName || len(other) < 200 {
			t.Errorf("names have %d and %d letters", len(one), len(other))
		}
	}
	if x, _ := names(long+"set", long+"x"); x == func() string { y, _ := names(long+"set", long+"y"); return y }() {
		t.Error("two targets have one name")
	}
}

// TestACreateThatIsRepeated finds what the first one made, although the cache does not show it.
func TestACreateThatIsRepeated(t *testing.T) {
	s := newStand(t)
	s.Add(t, server("a", "rack=r1"))
	s.Add(t, setOf("set", "r1"))
	s.Step(t, s.sets, "set")
	s.targets.Client = s.Lagging(t, &metalv1.BIOSSettingsList{})
	for range 3 {
		s.Step(t, s.targets, "a")
	}
	s.has(t, "set-a a 1")
}

func TestDeletionOfASet(t *testing.T) {
	s := newStand(t)
	for _, name := range []string{"a", "b"} {
		s.Add(t, server(name, "rack=r1"))
	}
	s.Add(t, setOf("set", "r1"))
	s.settle(t)
	s.is(t, "set-b", metalv1.BIOSSettingsStateInProgress)
	s.Remove(t, s.set(t, "set"))
	s.settle(t)
	s.has(t, "set-b b 1")
	s.ready(t, "set", metav1.ConditionFalse, reasonEnding, "1 BIOSSettings remain, 1 of them in progress")
	operation[metalv1.BIOSSettingsSet](t, s, "set", metalv1.OperationAllowInProgressDelete)
	s.settle(t)
	s.has(t)
	if !controllertest.Gone[metalv1.BIOSSettingsSet](t, s.API, "set") {
		t.Error("the Set is there still")
	}
}

// TestDeletionThatKeepsTheChildren: kubectl delete --cascade=orphan.
func TestDeletionThatKeepsTheChildren(t *testing.T) {
	s := newStand(t)
	s.Add(t, server("a", "rack=r1"))
	s.Add(t, setOf("set", "r1"))
	s.settle(t)
	controllertest.Change(t, s.API, "set", func(o *metalv1.BIOSSettingsSet) {
		o.Finalizers = append(o.Finalizers, metav1.FinalizerOrphanDependents)
	})
	s.Remove(t, s.set(t, "set"))
	s.settle(t)
	s.has(t, "set-a a 1")
	controllertest.Change(t, s.API, "set-a", func(c *metalv1.BIOSSettings) { c.OwnerReferences = nil })
	controllertest.Change(t, s.API, "set", func(o *metalv1.BIOSSettingsSet) { o.Finalizers = []string{metalv1.FinalizerBIOSSettingsSet} })
	s.settle(t)
	s.has(t, "set-a a 1")
	if !controllertest.Gone[metalv1.BIOSSettingsSet](t, s.API, "set") {
		t.Error("the Set is there still")
	}
}

// TestASelectorThatNobodyCanRead leaves everything as it is.
func TestASelectorThatNobodyCanRead(t *testing.T) {
	s := newStand(t)
	s.Add(t, server("a", "rack=r1"))
	s.Add(t, setOf("set", "r1"))
	s.settle(t)
	controllertest.Change(t, s.API, "set", func(o *metalv1.BIOSSettingsSet) {
		o.Spec.ServerSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "rack", Operator: "Like"}}
	})
	s.settle(t)
	s.has(t, "set-a a 1")
	s.ready(t, "set", metav1.ConditionFalse, reasonInvalid, "Like")
}

// TestAPolicyThatDoesNotExist: the Set says so, until it exists; and its children go by it from the beginning.
func TestAPolicyThatDoesNotExist(t *testing.T) {
	s := newStand(t)
	s.Add(t, server("a", "rack=r1"))
	s.Add(t, setOf("set", "r1", func(set *metalv1.BIOSSettingsSet) {
		set.Annotations = map[string]string{metalv1.AnnotationRolloutPolicy: "careful"}
	}))
	s.settle(t)
	s.ready(t, "set", metav1.ConditionFalse, reasonNoPolicy, `"careful"`)
	if rolloutpermit.Waits(s.child(t, "set-a")) != "careful" {
		t.Errorf("its child may begin: %v", s.child(t, "set-a").Annotations)
	}
	s.Add(t, &farrierv1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "careful"}})
	s.settle(t)
	s.ready(t, "set", metav1.ConditionFalse, reasonProgress)
}
