package childset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/test/seed"
)

// TestWhateverHappensEachTargetHasOneChild: after any series of creations, relabellings, deletions and changes of Sets, with looks at some of
// the objects in between, each target that a Set selects has exactly one child, with the template of the Set it is of, nobody else has one,
// and what a person made is as it was made.
func TestWhateverHappensEachTargetHasOneChild(t *testing.T) {
	first := seed.New(t)
	for round := range uint64(8) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			w := &world{stand: newStand(t), Rand: rand.New(rand.NewPCG(first, round))}
			for range 40 {
				w.happens(t)
			}
			w.rests(t)
			w.settle(t)
			w.check(t)
		})
	}
}

// world is a stand to which things happen by chance.
type world struct {
	*stand
	*rand.Rand
	persons map[string]string // what a person made: its version when it was made
}

func (w *world) pick(names []string) (string, bool) {
	if len(names) == 0 {
		return "", false
	}
	return names[w.IntN(len(names))], true
}

func (w *world) happens(t *testing.T) {
	t.Helper()
	w.API.Clock.Step(time.Second)
	servers, sets, children := w.all(t)
	name := fmt.Sprintf("s%d", w.IntN(8))
	rack := fmt.Sprintf("rack=r%d", w.IntN(3))
	switch w.IntN(9) {
	case 0, 1:
		if !slices.Contains(servers, name) {
			w.Add(t, server(name, rack, fmt.Sprintf("row=%d", w.IntN(2))))
		}
	case 2:
		if name, ok := w.pick(servers); ok {
			controllertest.Change(t, w.API, name, func(s *metalv1.Server) { s.Labels["rack"] = rack[len("rack="):] })
		}
	case 3:
		if name, ok := w.pick(servers); ok {
			w.Remove(t, server(name))
		}
	case 4:
		if name := fmt.Sprintf("set%d", w.IntN(3)); !slices.Contains(sets, name) {
			w.Add(t, setOf(name, rack[len("rack="):]))
		}
	case 5:
		if name, ok := w.pick(sets); ok {
			controllertest.Change(t, w.API, name, func(s *metalv1.BIOSSettingsSet) {
				s.Spec.BIOSSettingsTemplate.Version = fmt.Sprint(w.IntN(5))
				s.Spec.ServerSelector.MatchLabels = []map[string]string{{"rack": "r0"}, {"rack": "r1"}, {"row": "1"}}[w.IntN(3)]
			})
		}
	case 6:
		if name, ok := w.pick(sets); ok && w.IntN(3) == 0 {
			w.Remove(t, w.set(t, name))
		}
	case 7:
		if w.persons[name] == "" {
			made := settingsOf("mine-"+name, name)
			w.Add(t, made)
			if w.persons == nil {
				w.persons = map[string]string{}
			}
			w.persons[name] = w.child(t, made.Name).ResourceVersion
		}
	case 8:
		if name, ok := w.pick(children); ok {
			w.is(t, name, []metalv1.BIOSSettingsState{
				metalv1.BIOSSettingsStatePending, metalv1.BIOSSettingsStateInProgress, metalv1.BIOSSettingsStateApplied, metalv1.BIOSSettingsStateFailed,
			}[w.IntN(4)])
		}
	}
	w.looks(t, servers, sets)
}

// looks has some objects reconciled, in any order.
func (w *world) looks(t *testing.T, servers, sets []string) {
	t.Helper()
	for range w.IntN(3) {
		if name, ok := w.pick(servers); ok {
			w.Step(t, w.targets, name)
		}
		if name, ok := w.pick(sets); ok {
			w.Step(t, w.sets, name)
		}
	}
}

// all are the names of servers, Sets and the children of Sets.
func (w *world) all(t *testing.T) (servers, sets, children []string) {
	t.Helper()
	var s metalv1.ServerList
	var o metalv1.BIOSSettingsSetList
	if err := w.List(t.Context(), &s); err != nil {
		t.Fatal(err)
	}
	if err := w.List(t.Context(), &o); err != nil {
		t.Fatal(err)
	}
	for _, x := range s.Items {
		servers = append(servers, x.Name)
	}
	for _, x := range o.Items {
		sets = append(sets, x.Name)
	}
	for _, x := range w.children(t) {
		if metav1.GetControllerOf(&x) != nil {
			children = append(children, x.Name)
		}
	}
	return servers, sets, children
}

// rests has everything end that is in progress.
func (w *world) rests(t *testing.T) {
	t.Helper()
	_, _, children := w.all(t)
	for _, name := range children {
		w.is(t, name, metalv1.BIOSSettingsStateApplied)
	}
}

func (w *world) check(t *testing.T) {
	t.Helper()
	servers, sets, _ := w.all(t)
	of := map[string][]metalv1.BIOSSettings{}
	for _, c := range w.children(t) {
		if version := w.persons[c.Spec.ServerRef.Name]; metav1.GetControllerOf(&c) == nil && version != c.ResourceVersion {
			t.Errorf("%s was touched", c.Name)
		}
		of[c.Spec.ServerRef.Name] = append(of[c.Spec.ServerRef.Name], c)
	}
	for target := range of {
		if !slices.Contains(servers, target) && w.persons[target] == "" {
			t.Errorf("Server %s is gone, and has %v", target, of[target])
		}
	}
	for _, name := range servers {
		selecting := map[string]*metalv1.BIOSSettingsSet{}
		for _, set := range sets {
			o := w.set(t, set)
			if selector, err := metav1.LabelSelectorAsSelector(&o.Spec.ServerSelector); err != nil {
				t.Fatal(err)
			} else if selector.Matches(labels.Set(controllertest.Read[metalv1.Server](t, w.API, name).Labels)) {
				selecting[set] = o
			}
		}
		w.checkServer(t, name, selecting, of[name])
	}
}

func (w *world) checkServer(t *testing.T, name string, selecting map[string]*metalv1.BIOSSettingsSet, has []metalv1.BIOSSettings) {
	t.Helper()
	made := 0
	for _, c := range has {
		owner := metav1.GetControllerOf(&c)
		if owner == nil {
			continue
		}
		made++
		if set := selecting[owner.Name]; set == nil || c.Spec.Version != set.Spec.BIOSSettingsTemplate.Version {
			t.Errorf("Server %s has %s of version %s, selected by %v", name, c.Name, c.Spec.Version, selecting)
		}
	}
	if mine := w.persons[name] != ""; made > 1 || made == 0 && len(selecting) > 0 && !mine {
		t.Errorf("Server %s has %d children, selected by %d Sets", name, made, len(selecting))
	}
}

// TestManyTargets cost a create each, and few writes more. A change of one costs what one costs.
func TestManyTargets(t *testing.T) {
	const n = 200 // each costs the same, so a thousand would only take longer
	s := newStand(t)
	s.Add(t, setOf("set", "r1"))
	s.Add(t, setOf("other", "r2"))
	for i := range n {
		s.Add(t, server(fmt.Sprintf("s%04d", i), "rack=r1"))
	}
	s.Step(t, s.sets, "set")
	s.Step(t, s.sets, "other")
	s.ForgetWrites()
	for i := range n {
		s.Step(t, s.targets, fmt.Sprintf("s%04d", i))
		s.Step(t, s.sets, "set") // each new child wakes its Set
	}
	if got := len(s.Writes("BIOSSettings")); got != n {
		t.Errorf("%d writes of children", got)
	}
	if got := len(s.Writes("BIOSSettingsSet")); got > 2 {
		t.Errorf("%d writes of the Set within no time", got)
	}
	s.API.Clock.Step(countEvery)
	s.Step(t, s.sets, "set")
	s.counts(t, "set", n, n, n, 0, 0, 0)
	s.ForgetWrites()
	controllertest.Change(t, s.API, "s0007", func(s *metalv1.Server) { s.Labels["rack"] = "r2" })
	for range 3 {
		s.Step(t, s.targets, "s0007")
	}
	if got := s.Writes("BIOSSettings"); len(got) != 2 || got[0].Verb != controllertest.Delete || got[1].Verb != controllertest.Create {
		t.Errorf("a server that goes from one Set to another costs %v", got)
	}
}
