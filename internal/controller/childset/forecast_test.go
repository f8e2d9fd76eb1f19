package childset

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// annotatedSet is a proposed Set for all servers.
func annotatedSet(name, version string, annotations map[string]string) *metalv1.BIOSSettingsSet {
	set := &metalv1.BIOSSettingsSet{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	set.Spec.BIOSSettingsTemplate.Version = version
	return set
}

// forecast is which children there would be: name, server and version of each.
func (s *stand) forecast(t *testing.T, sets ...client.Object) (names []string) {
	t.Helper()
	s.ForgetWrites()
	f, err := biosSettingsSets().ForecastAll(t.Context(), s.API, sets, s.API.Clock.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	if writes := s.Writes(""); len(writes) > 0 {
		t.Errorf("a forecast writes %v", writes)
	}
	for _, child := range f.Children {
		c, ok := child.(*metalv1.BIOSSettings)
		if !ok {
			t.Fatalf("%T", child)
		}
		names = append(names, c.Name+" "+c.Spec.ServerRef.Name+" "+c.Spec.Version)
	}
	slices.Sort(names)
	return names
}

// foreign is an object of a person that has the name of a child.
func foreign() *metalv1.BIOSSettings {
	c := &metalv1.BIOSSettings{ObjectMeta: metav1.ObjectMeta{Name: "new-s2"}}
	c.Spec.ServerRef = &metalv1.LocalObjectReference{Name: "elsewhere"}
	return c
}

// TestTheForecastIsWhatHappens: the children that are foretold are those that the controller makes, also where names are taken, Sets are ignored, or
// another Set takes over.
func TestTheForecastIsWhatHappens(t *testing.T) {
	s := newStand(t)
	for _, name := range []string{"s1", "s2", "s3"} {
		s.Add(t, &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": name}}})
	}
	s.Add(t, foreign())
	older := annotatedSet("older", "1", nil)
	older.Spec.ServerSelector.MatchLabels = map[string]string{"rack": "s1"}
	s.Add(t, older.DeepCopy())
	s.settle(t)
	narrowed := older.DeepCopy()
	narrowed.Spec.ServerSelector.MatchLabels = map[string]string{"rack": "s3"}
	for name, proposed := range map[string][]client.Object{
		"ignored": {annotatedSet("new", "2", map[string]string{metalv1.AnnotationOperation: metalv1.OperationIgnore})},
		"new":     {annotatedSet("new", "2", nil)},
		"both":    {annotatedSet("new", "2", nil), narrowed},
	} {
		t.Run(name, func(t *testing.T) {
			want := s.forecast(t, proposed...)
			other := newStand(t)
			for _, kind := range []client.ObjectList{&metalv1.ServerList{}, &metalv1.BIOSSettingsSetList{}} {
				copies(t, s, other, kind)
			}
			other.Add(t, foreign())
			other.settle(t)
			for _, set := range proposed {
				other.applies(t, set)
			}
			other.settle(t)
			var got []string
			for _, c := range other.children(t) {
				got = append(got, c.Name+" "+c.Spec.ServerRef.Name+" "+c.Spec.Version)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("children are %q, foretold were %q", got, want)
			}
		})
	}
}

// copies has another API hold the objects of a list.
func copies(t *testing.T, from, to *stand, into client.ObjectList) {
	t.Helper()
	objects, err := list(t.Context(), from.API, into)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objects {
		c := copyOf(obj)
		c.SetResourceVersion("")
		to.Add(t, c)
	}
}

// applies applies a Set.
func (s *stand) applies(t *testing.T, set client.Object) {
	t.Helper()
	proposed, ok := set.(*metalv1.BIOSSettingsSet)
	if !ok {
		t.Fatalf("%T", set)
	}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(set), &metalv1.BIOSSettingsSet{}); err != nil {
		s.Add(t, proposed.DeepCopy())
		return
	}
	controllertest.Change(t, s.API, set.GetName(), func(standing *metalv1.BIOSSettingsSet) { standing.Spec = proposed.Spec })
}

// TestAnAppliedSet: annotations that others have set stay, those of the manifest before go; the generation rises with the spec.
func TestAnAppliedSet(t *testing.T) {
	standing := annotatedSet("set", "1", map[string]string{
		"by-hand": "stays", "gone": "1", "changed": "1",
		corev1.LastAppliedConfigAnnotation: `{"metadata": {"annotations": {"gone": "1", "changed": "1"}}}`,
	})
	standing.UID, standing.Generation, standing.Finalizers = "u", 4, []string{"f"}
	to := applied(standing, annotatedSet("set", "1", map[string]string{"changed": "2"}))
	_, gone := to.GetAnnotations()["gone"]
	if to.GetUID() != "u" || to.GetGeneration() != 4 || len(to.GetFinalizers()) != 1 || gone || to.GetAnnotations()["by-hand"] != "stays" || to.GetAnnotations()["changed"] != "2" {
		t.Errorf("applied: %+v", to)
	}
	if to := applied(standing, annotatedSet("set", "2", nil)); to.GetGeneration() != 5 {
		t.Errorf("generation %d after another template", to.GetGeneration())
	}
}

// TestWhatIsForetold of a child: nothing of one in progress, a new start of any other that gets another template.
func TestWhatIsForetold(t *testing.T) {
	s := newStand(t)
	for _, name := range []string{"s1", "s2"} {
		s.Add(t, &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name}})
		controllertest.ChangeStatus(t, s.API, name, func(server *metalv1.Server) { server.Status.BIOSVersion = "2" })
	}
	s.Add(t, annotatedSet("set", "1", nil))
	s.settle(t)
	controllertest.ChangeStatus(t, s.API, "set-s1", func(c *metalv1.BIOSSettings) { c.Status.State = metalv1.BIOSSettingsStateInProgress })
	controllertest.ChangeStatus(t, s.API, "set-s2", func(c *metalv1.BIOSSettings) {
		c.Status.State, c.Status.ObservedGeneration = metalv1.BIOSSettingsStateFailed, c.Generation
	})
	kind := biosSettingsSets()
	f, err := kind.ForecastAll(t.Context(), s.API, []client.Object{annotatedSet("set", "2", nil)}, s.API.Clock.Now(), false)
	if err != nil || len(f.Children) != 2 {
		t.Fatalf("%d children, %v", len(f.Children), err)
	}
	set := kind.readSet(f.Sets[0])
	first, second := kind.readChild(set, f.Children[0]), kind.readChild(set, f.Children[1])
	if first.Stand != Working || first.Object.GetGeneration() != 1 {
		t.Errorf("in progress: %+v", first)
	}
	if second.Stand != Waiting || second.Reason != metalv1.ReasonWaitingForRollout || second.Object.GetGeneration() != 2 {
		t.Errorf("failed before: %+v", second)
	}
}
