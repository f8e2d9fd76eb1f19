package bmc

import (
	"maps"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/watchfilter"
	"github.com/farrier-dev/farrier/internal/fleet"
)

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: controllertest.Key(name)}
}

func (s *stand) server(t *testing.T, name string) *metalv1.Server {
	t.Helper()
	return controllertest.Read[metalv1.Server](t, s.API, name)
}

// servers are the UUIDs by the names of the Servers.
func (s *stand) servers(t *testing.T) map[string]string {
	t.Helper()
	var list metalv1.ServerList
	if err := s.API.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, o := range list.Items {
		found[o.Name] = o.Spec.SystemUUID
	}
	return found
}

func TestEverySystemHasAServer(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri1, uuid1), system(uri2, uuid2))
		s.settle(t)
		if got, want := s.servers(t), map[string]string{"b-system-0": uuid1, "b-system-1": uuid2}; !maps.Equal(got, want) {
			t.Errorf("Servers %v, want %v", got, want)
		}
		o := s.server(t, "b-system-1")
		if o.Spec.BMCRef == nil || o.Spec.BMCRef.Name != "b" || o.Spec.SystemURI != uri2 || len(o.OwnerReferences) != 0 {
			t.Errorf("the Server is %+v, owned by %v", o.Spec, o.OwnerReferences)
		}
	})
}

func TestServersKeepTheirNamesWhenSystemsComeAndGo(t *testing.T) {
	const uuid3 = "00000000-0000-0000-0000-000000000003"
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri1, uuid1), system(uri2, uuid2))
		s.settle(t)
		s.bmc.Set(system(uri2, uuid2))
		s.look(t)
		s.bmc.Set(system(uri2, uuid2), system(uri3, uuid3))
		s.look(t)
		want := map[string]string{"b-system-0": uuid1, "b-system-1": uuid2, "b-system-2": uuid3}
		if got := s.servers(t); !maps.Equal(got, want) {
			t.Errorf("Servers %v, want %v", got, want)
		}
		s.bmc.Set(system(uri3, uuid3), system(uri1, uuid1), system(uri2, uuid2))
		s.look(t)
		if got := s.servers(t); !maps.Equal(got, want) {
			t.Errorf("after the first one came back: %v, want %v", got, want)
		}
	})
}

// TestAServerIsItsUUIDAndNotItsURI: a chassis that renumbers its systems must not make one
// machine pass for another: the other may be somebody's.
func TestAServerIsItsUUIDAndNotItsURI(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri1, uuid1), system(uri2, uuid2))
		s.settle(t)
		s.bmc.Set(system(uri1, uuid2))
		s.look(t)
		if got, want := s.servers(t), map[string]string{"b-system-0": uuid1, "b-system-1": uuid2}; !maps.Equal(got, want) {
			t.Errorf("Servers %v, want %v", got, want)
		}
		if uri := s.server(t, "b-system-1").Spec.SystemURI; uri != uri1 {
			t.Errorf("the machine has moved to %s, its Server says %s", uri1, uri)
		}
	})
}

func TestAUUIDIsFilledInLater(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri1, ""))
		s.settle(t)
		if got := s.servers(t); !maps.Equal(got, map[string]string{"b-system-0": ""}) {
			t.Fatalf("Servers %v", got)
		}
		s.bmc.Set(system(uri1, uuid1))
		s.look(t)
		if got := s.servers(t); !maps.Equal(got, map[string]string{"b-system-0": uuid1}) {
			t.Errorf("Servers %v", got)
		}
	})
}

func TestADeletedServerIsMadeAnew(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri1, uuid1))
		s.settle(t)
		controllertest.Change(t, s.API, "b-system-0", func(o *metalv1.Server) { o.Finalizers = nil })
		s.Remove(t, s.server(t, "b-system-0"))
		s.settle(t)
		if got := s.servers(t); !maps.Equal(got, map[string]string{"b-system-0": uuid1}) {
			t.Errorf("Servers %v", got)
		}
	})
}

func TestANameThatIsTakenIsPassedOver(t *testing.T) {
	foreign := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "b-system-0"}}
	foreign.Spec.SystemUUID = uuid2
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri1, uuid1))
		s.settle(t)
		if got, want := s.servers(t), map[string]string{"b-system-0": uuid2, "b-system-1": uuid1}; !maps.Equal(got, want) {
			t.Errorf("Servers %v, want %v", got, want)
		}
	}, foreign)
}

// TestAServerOfAnotherInstallation has the name, and perhaps stands for the same system: no second one is made, and the error says whose it is.
func TestAServerOfAnotherInstallation(t *testing.T) {
	theirs := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "b-system-0", Labels: map[string]string{metalv1.LabelWatchFilter: "hall-2"}}}
	stands(t, func(t *testing.T, s *stand) {
		var none watchfilter.Filter
		s.Client, s.APIReader = none.Client(s.API, s.API), none.Reader(s.API)
		_, err := s.create(t.Context(), s.read(t), &fleet.SystemObservation{System: system(uri1, uuid1)}, nil)
		if !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), `is "hall-2"`) {
			t.Errorf("create: %v", err)
		}
		if got := s.servers(t); len(got) != 1 {
			t.Errorf("Servers %v", got)
		}
	}, theirs)
}

func TestACacheThatLagsMakesNoSecondServer(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.Settle(t, s.Reconciler, "b")
		s.bmc.Set(system(uri1, uuid1))
		s.rack.Look(address)
		cache := s.Lagging(t, &metalv1.ServerList{})
		s.Step(t, s.Reconciler, "b")
		s.Client = cache
		if result := s.Step(t, s.Reconciler, "b"); result.RequeueAfter == 0 {
			t.Error("nothing is tried again")
		}
		if got := s.servers(t); !maps.Equal(got, map[string]string{"b-system-0": uuid1}) {
			t.Errorf("Servers %v", got)
		}
	})
}

func TestLabelsAreCopiedAndTakenBackAndOwnOnesStay(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		label := func(labels map[string]string) {
			controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Labels = labels })
			s.settle(t)
		}
		check := func(what string, want map[string]string) {
			t.Helper()
			if got := s.server(t, "b-system-0").Labels; !maps.Equal(got, want) {
				t.Errorf("%s: labels %v, want %v", what, got, want)
			}
		}
		s.bmc.Set(system(uri1, uuid1))
		label(map[string]string{"zone": "a", "row": "1"})
		check("at first", map[string]string{"zone": "a", "row": "1"})
		controllertest.Change(t, s.API, "b-system-0", func(o *metalv1.Server) { o.Labels["size"] = "m" })
		label(map[string]string{"zone": "b"})
		check("changed and removed", map[string]string{"zone": "b", "size": "m"})
		label(map[string]string{"zone": "b", "size": "l"})
		check("the Server's own counts", map[string]string{"zone": "b", "size": "m"})
		label(nil)
		check("all removed", map[string]string{"size": "m"})
		if note := s.server(t, "b-system-0").Annotations[annotationCopiedLabels]; note != "" {
			t.Errorf("nothing is copied, and noted is %q", note)
		}
	})
}
