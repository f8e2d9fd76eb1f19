package maintenancerequest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// stand is an API with an object that asks, and two servers.
func stand(t *testing.T, change ...func(*Request)) (*controllertest.API, Request) {
	t.Helper()
	a := controllertest.NewAPI(t)
	owner := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	a.Add(t, owner)
	for _, name := range []string{"s1", "s2"} {
		a.Add(t, &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	r := Request{Owner: owner, Kind: "BMC", Namespace: "ns", Prefix: "x", Servers: []string{"s1", "s2"}, Many: true, Policy: metalv1.ServerMaintenancePolicyEnforced}
	for _, c := range change {
		c(&r)
	}
	return a, r
}

func looks(t *testing.T, a *controllertest.API, r Request) Standing {
	t.Helper()
	s, err := Look(t.Context(), a, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func asks(t *testing.T, a *controllertest.API, r Request) Standing {
	t.Helper()
	if _, err := Ask(t.Context(), a, r, looks(t, a, r)); err != nil {
		t.Fatal(err)
	}
	return looks(t, a, r)
}

func grants(t *testing.T, a *controllertest.API, server string, ref metalv1.ObjectReference) {
	t.Helper()
	controllertest.Change(t, a, server, func(s *metalv1.Server) { s.Spec.ServerMaintenanceRef = &ref })
}

func named(t *testing.T, a *controllertest.API) string {
	t.Helper()
	var list metalv1.ServerMaintenanceList
	if err := a.List(t.Context(), &list, client.InNamespace("")); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range list.Items {
		names = append(names, m.Name)
	}
	return strings.Join(names, " ")
}

// TestAskedWaitedForAndEnded is the whole way, every step of which is done twice: who is killed in between does it again.
func TestAskedWaitedForAndEnded(t *testing.T) {
	a, r := stand(t)
	if s := looks(t, a, r); s.Granted() || s.Asked() || s.Waiting() != "requesting a maintenance; and 1 more" {
		t.Fatalf("before: %q", s.Waiting())
	}
	asks(t, a, r)
	s := asks(t, a, r)
	if !s.Asked() || s.Granted() || named(t, a) != "x-b-s1 x-b-s2" {
		t.Fatalf("asked: %q of %s", s.Waiting(), named(t, a))
	}
	m := controllertest.Read[metalv1.ServerMaintenance](t, a, "ns/x-b-s2")
	if m.Spec.ServerRef.Name != "s2" || m.Spec.Policy != r.Policy || m.Annotations[metalv1.AnnotationReason] != "BMC b" {
		t.Errorf("maintenance %+v, annotations %v", m.Spec, m.Annotations)
	}
	r.Named = r.Record(s, true)
	if diff := cmp.Diff(r.Own(), r.Named); diff != "" {
		t.Errorf("recorded (-want +got)\n%s", diff)
	}
	grants(t, a, "s1", r.Ref("s1"))
	if s := looks(t, a, r); s.Granted() || !strings.Contains(s.Waiting(), "ns/x-b-s2") || strings.Contains(s.Waiting(), "more") {
		t.Fatalf("one is had: %q", s.Waiting())
	}
	grants(t, a, "s2", r.Ref("s2"))
	if s = looks(t, a, r); !s.Granted() || s.Waiting() != "" {
		t.Fatalf("both are had: %q", s.Waiting())
	}
	for range 2 {
		if err := End(t.Context(), a, r); err != nil {
			t.Fatal(err)
		}
	}
	if left := r.Record(looks(t, a, r), false); named(t, a) != "" || len(left) != 0 {
		t.Errorf("left are %q, recorded %v", named(t, a), left)
	}
}

// TestWhatAPersonNamed is waited for, whatever its name, kept in the record, and never deleted.
func TestWhatAPersonNamed(t *testing.T) {
	window := metalv1.ObjectReference{Namespace: "ns", Name: "window"}
	a, r := stand(t, func(r *Request) { r.Named = []metalv1.ObjectReference{window} })
	m := &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "window"}}
	m.Spec.ServerRef.Name = "s2"
	a.Add(t, m)
	s := asks(t, a, r)
	if diff := cmp.Diff([]metalv1.ObjectReference{window, r.Ref("s1")}, r.Record(s, true)); diff != "" || named(t, a) != "window x-b-s1" {
		t.Fatalf("there are %s, recorded (-want +got)\n%s", named(t, a), diff)
	}
	r.Named = r.Record(s, true)
	grants(t, a, "s1", r.Ref("s1"))
	grants(t, a, "s2", window)
	if !looks(t, a, r).Granted() {
		t.Fatal("not had")
	}
	if err := End(t.Context(), a, r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]metalv1.ObjectReference{window}, r.Record(looks(t, a, r), false)); diff != "" || named(t, a) != "window" {
		t.Errorf("there are %s, recorded (-want +got)\n%s", named(t, a), diff)
	}
}

// TestOneServer may be given a maintenance that does not exist yet.
func TestOneServer(t *testing.T) {
	a, r := stand(t, func(r *Request) { r.Many, r.Servers = false, []string{"s1"} })
	if s := asks(t, a, r); s.Servers[0].Ref.Name != "x-b" {
		t.Errorf("its maintenance is %v", s.Servers[0].Ref)
	}
	r.Named = []metalv1.ObjectReference{{Namespace: "ns", Name: "later"}}
	if s := asks(t, a, r); s.Waiting() != "ServerMaintenance ns/later does not exist" {
		t.Errorf("waits: %q", s.Waiting())
	}
}

func TestWhoCannotBeHad(t *testing.T) {
	a, r := stand(t, func(r *Request) { r.Servers = []string{"s1", "gone"} })
	other := &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x-b-s1"}}
	other.Spec.ServerRef.Name = "s1"
	a.Add(t, other)
	grants(t, a, "s1", r.Ref("s1"))
	s := asks(t, a, r)
	if s.Granted() || !strings.Contains(s.Waiting(), "belongs to somebody else") {
		t.Errorf("one of somebody else's: %q", s.Waiting())
	}
	r.Servers = []string{"gone"}
	if s = asks(t, a, r); s.Granted() || s.Waiting() != `Server "gone" does not exist` {
		t.Errorf("no such server: %q", s.Waiting())
	}
	if err := End(t.Context(), a, r); err != nil || named(t, a) != "x-b-s1" {
		t.Errorf("%v; there are %q", err, named(t, a))
	}
	r.Servers = nil
	if s = asks(t, a, r); !s.Granted() {
		t.Error("nobody is asked for, and waited for")
	}
}

// TestServersThatLeave the BMC are given back by what is recorded.
func TestServersThatLeave(t *testing.T) {
	a, r := stand(t)
	r.Named = r.Record(asks(t, a, r), true)
	r.Servers = []string{"s1"}
	if diff := cmp.Diff([]metalv1.ObjectReference{r.Ref("s1")}, r.Record(looks(t, a, r), true)); diff != "" {
		t.Errorf("recorded (-want +got)\n%s", diff)
	}
	if err := End(t.Context(), a, r); err != nil || named(t, a) != "" {
		t.Errorf("%v; left are %q", err, named(t, a))
	}
}

// TestLongNames: whatever the names are, those of the maintenances are short enough, and differ.
func TestLongNames(t *testing.T) {
	_, r := stand(t)
	r.Owner.SetName(strings.Repeat("n", 253))
	one, two := r.Ref("s1"), r.Ref("s2")
	if len(one.Name) > maxName || one == two {
		t.Errorf("%q and %q", one.Name, two.Name)
	}
}
