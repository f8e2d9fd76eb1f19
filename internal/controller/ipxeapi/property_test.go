package ipxeapi

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// drawObjects makes a set of profiles and assignments, good and bad.
func drawObjects(t *rapid.T) []client.Object {
	var objects []client.Object
	at := func(label string) metav1.Time {
		return metav1.NewTime(controllertest.Start.AddDate(0, 0, rapid.IntRange(0, 2).Draw(t, label)))
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "profiles") {
		p := newProfile(fmt.Sprintf("p%d", i), rapid.SampledFrom([]string{
			"#!ipxe\necho {{ .Subject.uuid }}\n", "#!ipxe\nchain {{ c }}\n", "#!ipxe\n{{ .gone }}\n", "no magic",
		}).Draw(t, "script"))
		p.Spec.AdditionalConfig = map[string]string{"c": rapid.String().Draw(t, "config")}
		p.CreationTimestamp, p.UID = at("profile's age"), types.UID(p.Name)
		objects = append(objects, p)
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "assignments") {
		a := newAssignment(fmt.Sprintf("a%d", i), "", rapid.SampledFrom([]map[string]string{
			nil, {"uuid": uuid}, {"UUIDs": uuid, "arch": "aarch64"}, {"mac": "02-00-00-00-00-01"}, {"arch": "arm64"}, {"platform": "efi"}, {"serial": "none"}, {"": ""},
		}).Draw(t, "selector"))
		if a.CreationTimestamp = at("age"); rapid.Bool().Draw(t, "by name") {
			a.Spec.ProfileName = fmt.Sprintf("p%d", rapid.IntRange(0, 3).Draw(t, "profile"))
		} else {
			a.Spec.ProfileSelectors = map[string]string{"assignment/ipxe-buildarch": rapid.SampledFrom([]string{"arm64", "i386"}).Draw(t, "value")}
		}
		a.Spec.Priority = rapid.Int32Range(0, 1).Draw(t, "priority")
		objects = append(objects, a)
	}
	return objects
}

// reconcileAll has every object looked at, in the given order, then everything that this has woken, or would have by a watch.
func (s *stand) reconcileAll(t *testing.T, order []client.Object) {
	for range 2 { // a watch of Profiles looks at their assignments again
		for _, obj := range order {
			kind := "a:"
			if _, ok := obj.(*ipxev1.Profile); ok {
				kind = "p:"
			}
			s.settle(t, kind+"default/"+obj.GetName())
		}
	}
}

// said is everything that machines and people are told.
func (s *stand) said(t *testing.T) map[string]string {
	said := map[string]string{}
	for _, query := range []string{"", "uuid=" + uuid, "uuid=" + uuid + "&buildarch=arm64", "mac=020000000001&platform=efi", "buildarch=arm64&platform=efi", "serial=none"} {
		script, err := s.script(t, query)
		said["script "+query] = fmt.Sprint(script, " ", err)
	}
	var assignments ipxev1.AssignmentList
	var profiles ipxev1.ProfileList
	for _, list := range []client.ObjectList{&assignments, &profiles} {
		if err := s.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	note := func(name string, conditions []metav1.Condition) {
		for _, c := range conditions {
			said[name+" "+c.Type] = fmt.Sprint(c.Status, c.Reason, c.Message)
		}
	}
	for i := range assignments.Items {
		note(assignments.Items[i].Name, assignments.Items[i].Status.Conditions)
	}
	for i := range profiles.Items {
		note(profiles.Items[i].Name, profiles.Items[i].Status.Conditions)
		said[profiles.Items[i].Name+" ids"] = fmt.Sprint(profiles.Items[i].Status.AdditionalConfig)
	}
	return said
}

func copies(objects []client.Object) []client.Object {
	copied := make([]client.Object, len(objects))
	for i, o := range objects {
		copied[i] = o.DeepCopyObject().(client.Object)
	}
	return copied
}

// TestOrderDoesNotMatter: any order of events gives one view and one status, and so does a restart,
// also one that has lost all status.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		objects := drawObjects(rt)
		first := newStand(t, copies(objects)...)
		first.reconcileAll(t, objects)
		want := first.said(t)

		second := newStand(t, copies(objects)...)
		second.reconcileAll(t, rapid.Permutation(objects).Draw(rt, "order"))
		if diff := cmp.Diff(want, second.said(t)); diff != "" {
			rt.Errorf("another order (-first +second):\n%s", diff)
		}
		second.restart(t)
		second.reconcileAll(t, objects)
		if diff := cmp.Diff(want, second.said(t)); diff != "" {
			rt.Errorf("after a restart (-before +after):\n%s", diff)
		}
	})
}

// TestRemovalGivesBack: an object that comes and goes leaves nothing behind.
func TestRemovalGivesBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		objects := drawObjects(rt)
		if len(objects) == 0 {
			return
		}
		gone := rapid.SampledFrom(objects).Draw(rt, "gone")
		rest := slices.DeleteFunc(slices.Clone(objects), func(o client.Object) bool { return o == gone })
		without := newStand(t, copies(rest)...)
		without.reconcileAll(t, rest)

		with := newStand(t, copies(objects)...)
		with.reconcileAll(t, objects)
		with.Remove(t, gone.DeepCopyObject().(client.Object))
		with.reconcileAll(t, objects)
		if diff := cmp.Diff(without.said(t), with.said(t)); diff != "" {
			rt.Errorf("what is gone is still felt (-without +with):\n%s", diff)
		}
	})
}

func TestSynchronisedWhenEverythingIsIn(t *testing.T) {
	view := profile.NewView(nil, nil)
	i := NewInitial(view, nil)
	name := func(n string) types.NamespacedName { return types.NamespacedName{Namespace: "default", Name: n} }
	i.done(kindProfile, name("early"))
	i.begin(maps.Collect(maps.All(map[existing]struct{}{{kindProfile, name("early")}: {}, {kindProfile, name("p")}: {}, {kindAssignment, name("p")}: {}})))
	for step, want := range []bool{false, false, true} {
		switch step {
		case 1:
			i.done(kindProfile, name("p"))
			i.done(kindProfile, name("p"))
		case 2:
			i.done(kindAssignment, name("p"))
		}
		if view.Synced() != want {
			t.Fatalf("step %d: synchronised %t", step, view.Synced())
		}
	}
}
