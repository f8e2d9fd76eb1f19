package ipxeapi

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// memory is a cache with the indexes of the product, that counts what it hands out.
type memory struct {
	client.Client
	indexes map[reflect.Type]map[string]client.IndexerFunc
	objects map[reflect.Type]map[string][]client.Object // by index and value
	visited int
}

func newMemory(t testing.TB) *memory {
	t.Helper()
	m := &memory{indexes: map[reflect.Type]map[string]client.IndexerFunc{}, objects: map[reflect.Type]map[string][]client.Object{}}
	if err := index.Register(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// IndexField implements client.FieldIndexer.
func (m *memory) IndexField(_ context.Context, obj client.Object, field string, value client.IndexerFunc) error {
	kind := reflect.TypeOf(obj).Elem()
	if m.indexes[kind] == nil {
		m.indexes[kind] = map[string]client.IndexerFunc{}
	}
	m.indexes[kind][field] = value
	return nil
}

func (m *memory) add(obj client.Object) {
	kind := reflect.TypeOf(obj).Elem()
	if m.objects[kind] == nil {
		m.objects[kind] = map[string][]client.Object{}
	}
	put := func(at string) { m.objects[kind][at] = append(m.objects[kind][at], obj) }
	put("namespace:" + obj.GetNamespace())
	for field, value := range m.indexes[kind] {
		for _, v := range value(obj) {
			put(field + ":" + v)
		}
	}
}

func (m *memory) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	at := "namespace:" + options.Namespace
	if options.FieldSelector != nil {
		r := options.FieldSelector.Requirements()[0]
		at = r.Field + ":" + r.Value
	}
	var found []runtime.Object
	for _, obj := range m.objects[items.Type().Elem()][at] {
		m.visited++
		found = append(found, obj)
	}
	return apimeta.SetList(list, found)
}

// site is a namespace with n assignments, of which some are of one profile.
func site(t testing.TB, n int) (*Assignments, *memory, *ipxev1.Profile) {
	t.Helper()
	m := newMemory(t)
	p := newProfile("p", "#!ipxe\n")
	p.Labels["assignment/extrinsic-region"] = "eu"
	m.add(p)
	for i := range n {
		a := newAssignment(fmt.Sprint("a", i), fmt.Sprint("p", i), map[string]string{"serial": fmt.Sprint(i)})
		switch i {
		case 1:
			a.Spec.ProfileName = "p"
		case 2:
			a.Spec.ProfileName, a.Spec.ProfileSelectors = "", map[string]string{"assignment/extrinsic/region": "eu"}
		case 3:
			a.Spec.ProfileName, a.Spec.ProfileSelectors = "", map[string]string{"assignment/extrinsic-region": "us"}
		}
		m.add(a)
	}
	return &Assignments{Client: m, View: profile.NewView(nil, nil)}, m, p
}

// TestAChangedProfileIsNewsToItsOwn: as many assignments are looked at as it has, however many there are.
func TestAChangedProfileIsNewsToItsOwn(t *testing.T) {
	for _, n := range []int{50, 50_000} {
		r, m, p := site(t, n)
		found := map[string]bool{}
		for _, request := range r.usersOf(t.Context(), p) {
			found[request.Name] = true
		}
		if m.visited != 2 || len(found) != 2 || !found["a1"] || !found["a2"] {
			t.Errorf("of %d assignments %d are looked at and %v woken", n, m.visited, found)
		}
	}
}

// TestAnAssignmentLooksAtTheProfilesItMaySelect: and at all only to say which is a near miss.
func TestAnAssignmentLooksAtTheProfilesItMaySelect(t *testing.T) {
	r, m, _ := site(t, 1)
	for i := range 1000 {
		m.add(&ipxev1.Profile{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("q", i), Labels: map[string]string{"assignment/extrinsic-region": fmt.Sprint(i)}}})
	}
	a := newAssignment("a", "", nil)
	a.Spec.ProfileSelectors = map[string]string{"assignment/extrinsic-region": "eu"}
	if found, err := r.profileOf(t.Context(), a); err != nil || found.name != "p" || m.visited != 1 {
		t.Errorf("%+v, %v: %d profiles are looked at", found, err, m.visited)
	}
	if woken := r.unresolved.of("default"); len(woken) != 0 {
		t.Errorf("unresolved: %v", woken)
	}
	a.Spec.ProfileSelectors["assignment/extrinsic-region"] = "mars"
	if found, err := r.profileOf(t.Context(), a); err != nil || found.broken == "" {
		t.Errorf("%+v, %v", found, err)
	}
	if woken := r.unresolved.of("default"); len(woken) != 1 || woken[0].Name != "a" {
		t.Errorf("unresolved: %v, want what any profile may be a near miss to", woken)
	}
}

// TestWhatOfAProfileIsNews to its assignments: not that it was edited, as long as it is served as before.
func TestWhatOfAProfileIsNews(t *testing.T) {
	ready := func(p *ipxev1.Profile, is bool, generation int64) {
		apimeta.SetStatusCondition(&p.Status.Conditions, condition(ipxev1.ConditionReady, is, "r", generation))
	}
	before := newProfile("p", "#!ipxe\n")
	before.Generation = 1
	ready(before, true, 1)
	news := newsOfProfiles()
	for name, c := range map[string]struct {
		change func(*ipxev1.Profile)
		want   bool
	}{
		"an edit":               {func(p *ipxev1.Profile) { p.Generation = 2 }, false},
		"an edit, compiled":     {func(p *ipxev1.Profile) { p.Generation = 2; ready(p, true, 2) }, false},
		"an edit, not served":   {func(p *ipxev1.Profile) { p.Generation = 2; ready(p, false, 2) }, true},
		"other labels":          {func(p *ipxev1.Profile) { p.Labels = map[string]string{"a": "b"} }, true},
		"that it goes":          {func(p *ipxev1.Profile) { now := metav1.Now(); p.DeletionTimestamp = &now }, true},
		"other IDs of configs":  {func(p *ipxev1.Profile) { p.Status.AdditionalConfig = map[string]string{"a": "b"} }, false},
		"that nothing is known": {func(p *ipxev1.Profile) { p.Status.Conditions = nil }, true},
	} {
		after := before.DeepCopy()
		c.change(after)
		if got := news.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != c.want {
			t.Errorf("%s is news: %t", name, got)
		}
	}
}

// BenchmarkChangedProfile finds the assignments of a profile among very many.
func BenchmarkChangedProfile(b *testing.B) {
	for _, n := range []int{500, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r, _, p := site(b, n)
			b.ReportAllocs()
			for b.Loop() {
				r.usersOf(b.Context(), p)
			}
		})
	}
}
