package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestQueuedMaintenances: between two maintenances the server is nobody's else. It stays in Maintenance until none waits, a claim that
// waits cannot have it in between, and what an owner has approved once covers them all.
func TestQueuedMaintenances(t *testing.T) {
	asks := func(m *metalv1.ServerMaintenance) { m.Spec.Policy = metalv1.ServerMaintenancePolicyOwnerApproval }
	for name, tc := range map[string]struct {
		claimed bool
		how     []func(*metalv1.ServerMaintenance)
		after   metalv1.ServerState
	}{
		"a free server":               {false, []func(*metalv1.ServerMaintenance){asks}, metalv1.ServerStateAvailable},
		"a free server, switched on":  {false, []func(*metalv1.ServerMaintenance){asks, wantsPower(metalv1.PowerOn)}, metalv1.ServerStateAvailable},
		"a claimed one":               {true, []func(*metalv1.ServerMaintenance){asks}, metalv1.ServerStateReserved},
		"a claimed one, switched off": {true, []func(*metalv1.ServerMaintenance){asks, wantsPower(metalv1.PowerOff)}, metalv1.ServerStateReserved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				if s.available(t); tc.claimed {
					s.claims(t, metalv1.PowerOn)
					s.pass(t, 10*time.Second)
					s.is(t, metalv1.ServerStateReserved)
				}
				names := []string{"ns/a", "ns/b", "ns/z"}
				for _, name := range names {
					s.Add(t, maintenanceOf("ns", strings.TrimPrefix(name, "ns/"), tc.how...))
				}
				s.maintained(t, 10*time.Second, names...)
				if tc.claimed {
					s.is(t, metalv1.ServerStateReserved)
					controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerClaim) {
						metav1.SetMetaDataLabel(&c.ObjectMeta, metalv1.LabelMaintenanceApproved, "true")
					})
					s.maintained(t, 10*time.Second, names...)
				}
				s.is(t, metalv1.ServerStateMaintenance)
				s.watch = func(server *metalv1.Server) {
					if server.Status.State != metalv1.ServerStateMaintenance || server.Spec.ServerMaintenanceRef == nil || allocator.Free(server) {
						t.Errorf("state %s, maintenance %v", server.Status.State, server.Spec.ServerMaintenanceRef)
					}
				}
				for i, name := range names {
					server := s.is(t, metalv1.ServerStateMaintenance)
					if ref := server.Spec.ServerMaintenanceRef; ref.Namespace+"/"+ref.Name != name {
						t.Fatalf("%s has the server, it is the turn of %s", ref.Name, name)
					}
					if i == len(names)-1 {
						s.watch = nil
					}
					s.Remove(t, controllertest.Read[metalv1.ServerMaintenance](t, s.API, name))
					s.maintained(t, 40*time.Second, names[i:]...)
					if !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, name) {
						t.Fatalf("%s is left", name)
					}
				}
				s.is(t, tc.after)
				if n := count(s.told, "MaintenanceStarted"); n != len(names) {
					t.Errorf("told %d times that one has started: %v", n, s.told)
				}
			})
		})
	}
}

// TestWhoIsHandedTheServer: not one that is not approved, that cannot be done, or that is to be ignored. One that nobody has looked at
// yet is waited for, and not for ever.
func TestWhoIsHandedTheServer(t *testing.T) {
	ended := func(t *testing.T, s *stand) {
		s.Add(t, maintenanceOf("ns", "a"))
		s.maintained(t, 5*time.Second, "ns/a")
		s.is(t, metalv1.ServerStateMaintenance)
	}
	ends := func(t *testing.T, s *stand) {
		s.Remove(t, controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/a"))
	}
	t.Run("not approved", func(t *testing.T) {
		t.Parallel()
		stands(t, func(t *testing.T, s *stand) {
			s.reserved(t)
			ended(t, s)
			s.Add(t, maintenanceOf("ns", "b", func(m *metalv1.ServerMaintenance) { m.Spec.Policy = metalv1.ServerMaintenancePolicyOwnerApproval }))
			s.maintained(t, 5*time.Second, "ns/a", "ns/b")
			ends(t, s)
			s.maintained(t, 20*time.Second, "ns/a", "ns/b")
			s.is(t, metalv1.ServerStateReserved)
		})
	})
	t.Run("it cannot be done", func(t *testing.T) {
		t.Parallel()
		stands(t, func(t *testing.T, s *stand) {
			s.available(t)
			ended(t, s)
			s.Add(t, maintenanceOf("ns", "b", wantsPower("Sideways")))
			ends(t, s)
			s.pass(t, 2*time.Second)
			s.is(t, metalv1.ServerStateMaintenance) // nobody has looked at b yet
			s.maintained(t, 20*time.Second, "ns/a", "ns/b")
			s.is(t, metalv1.ServerStateAvailable)
		})
	})
	t.Run("nobody looks at it", func(t *testing.T) {
		t.Parallel()
		stands(t, func(t *testing.T, s *stand) {
			s.available(t)
			ended(t, s)
			s.Add(t, maintenanceOf("ns", "b"))
			ends(t, s)
			s.pass(t, 20*time.Second)
			s.is(t, metalv1.ServerStateMaintenance)
			s.pass(t, 15*time.Second)
			s.is(t, metalv1.ServerStateAvailable)
		})
	})
	t.Run("to be ignored", func(t *testing.T) {
		t.Parallel()
		stands(t, func(t *testing.T, s *stand) {
			s.available(t)
			ended(t, s)
			s.Add(t, maintenanceOf("ns", "b", func(m *metalv1.ServerMaintenance) {
				m.Annotations = map[string]string{metalv1.AnnotationOperation: metalv1.OperationIgnore}
			}))
			ends(t, s)
			s.maintained(t, 5*time.Second, "ns/a")
			s.is(t, metalv1.ServerStateAvailable)
		})
	})
}

// TestTheNextBootsItsOwn: what the maintenance before had booted ends, and the machine is not switched on before there is what the
// next one brings.
func TestTheNextBootsItsOwn(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		tool := func(name string) func(*metalv1.ServerMaintenance) {
			return func(m *metalv1.ServerMaintenance) {
				boots(m)
				m.Spec.ServerBootConfigurationTemplate.Name = name
			}
		}
		s.Add(t, maintenanceOf("ns", "a", tool("first")))
		s.Add(t, maintenanceOf("ns", "b", tool("second")))
		s.maintained(t, 10*time.Second, "ns/a", "ns/b")
		s.ready(t, "ns/first")
		s.maintained(t, 30*time.Second, "ns/a", "ns/b")
		if s.attempt(t, "ns/first").Started == nil {
			t.Fatal("the first does not run")
		}
		before := len(s.hw.Resets())
		s.Remove(t, controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/a"))
		s.pass(t, 30*time.Second) // the controller of maintenances is slow
		if got := s.hw.Resets()[before:]; slices.ContainsFunc(got, func(r string) bool { return strings.HasSuffix(r, " On") }) {
			t.Errorf("switched on with nothing to boot: %v", got)
		}
		s.maintained(t, 10*time.Second, "ns/a", "ns/b")
		s.ready(t, "ns/second")
		s.maintained(t, 30*time.Second, "ns/a", "ns/b")
		s.is(t, metalv1.ServerStateMaintenance)
		if s.attempt(t, "ns/second").Started == nil {
			t.Error("the second does not run")
		}
	})
}
