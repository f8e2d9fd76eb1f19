package rolloutpolicy

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/probeboot"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/place"
)

func controllertestRequest() reconcile.Request {
	return reconcile.Request{NamespacedName: controllertest.Key(everything)}
}

// TestNeverMoreThanTheBudget, whatever becomes of servers and changes, whoever is killed, however old the caches are: no more servers are
// unavailable because of the rollout than the budgets allow, no more changes fail than the canaries and the limit, and everything that can be done is done.
func TestNeverMoreThanTheBudget(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 11)) //nolint:gosec // a test that can be repeated
			const servers, fleet, rack, canaries, limit = 48, 6, 2, 2, 3
			s := newFixture(t, servers, farrierv1.RolloutPolicySpec{
				MaxUnavailable: farrierv1.MaxUnavailable{Fleet: amount(fmt.Sprint(fleet)), Rack: amount(fmt.Sprint(rack))},
				Waves: []farrierv1.Wave{
					{UpTo: *amount(fmt.Sprint(canaries)), Bake: "5m", Gates: []farrierv1.Gate{farrierv1.GateProbeBoot}}, {UpTo: *amount("25%")},
				},
				FailureLimit: amount(fmt.Sprint(limit)),
			})
			brick := random.IntN(4) == 0 // an image that nothing survives
			failed := 0
			for range 120 {
				if random.IntN(10) == 0 {
					s.restart()
				}
				if random.IntN(4) == 0 {
					s.r.Client = s.Lagging(t, &metalv1.BIOSSettingsList{}, &metalv1.ServerList{})
				}
				s.API.Clock.Step(decideEvery * 30)
				_, _ = s.r.Reconcile(t.Context(), controllertestRequest()) // what is refused is decided again
				if random.IntN(2) == 0 {
					s.r.Client = s.API
				}
				for _, c := range s.open(t) {
					working := c.Status.State == metalv1.BIOSSettingsStateInProgress
					switch {
					case c.Status.State == metalv1.BIOSSettingsStateApplied || c.Status.State == metalv1.BIOSSettingsStateFailed || random.IntN(3) == 0:
					case !working:
						s.begins(t, &c)
					case brick:
						failed++
						s.ends(t, &c, "MachineDidNotStart")
					default:
						s.ends(t, &c, "")
					}
				}
				s.probesSome(t, random)
				check(t, s, fleet, rack)
				checkGate(t, s, canaries)
			}
			r := s.says(t, "settings")
			switch {
			case brick && (failed > canaries+limit || failed < canaries):
				t.Errorf("%d failed with an image that nothing survives, at most %d may", failed, canaries+limit)
			case !brick && r.Reason != farrierv1.ReasonCompleted:
				t.Errorf("it is not done: %+v", r)
			}
		})
	}
}

// probesSome has some servers boot the probe that are asked to, and some report that boot it.
func (s *fixture) probesSome(t *testing.T, random *rand.Rand) {
	t.Helper()
	var servers metalv1.ServerList
	if err := s.List(t.Context(), &servers); err != nil {
		t.Fatal(err)
	}
	for i := range servers.Items {
		server := &servers.Items[i]
		switch {
		case !probeboot.Unanswered(server) || random.IntN(3) == 0:
		case probeboot.Of(server).Pending():
			s.probeReports(t, server.Name)
		case server.Status.State == metalv1.ServerStateAvailable:
			s.bootsProbe(t, server.Name)
		}
	}
}

// checkGate says that all canaries have booted the probe, for the change, or failed before that, where anything of a later wave may begin.
func checkGate(t *testing.T, s *fixture, canaries int) {
	t.Helper()
	passed, later := 0, 0
	for _, c := range s.children(t) {
		permit := rolloutpermit.Of(&c)
		switch {
		case permit == nil:
		case permit.Wave > 1:
			later++
		case permit.Ended.IsZero():
		case permit.Failure != "" || probeboot.Of(controllertest.Read[metalv1.Server](t, s.API, c.Spec.ServerRef.Name)) != nil:
			passed++
		}
	}
	if later > 0 && passed < canaries {
		t.Fatalf("%d of later waves may begin, and %d canaries have passed", later, passed)
	}
}

func check(t *testing.T, s *fixture, fleet, rack int) {
	t.Helper()
	away, racks := 0, map[string]int{}
	for _, c := range s.open(t) {
		server := controllertest.Read[metalv1.Server](t, s.API, c.Spec.ServerRef.Name)
		// Who may begin may be unavailable at any time; who has ended and is not counted yet is not.
		if c.Status.State == metalv1.BIOSSettingsStateApplied || c.Status.State == metalv1.BIOSSettingsStateFailed {
			continue
		}
		away++
		racks[server.Labels[place.LabelRack]]++
	}
	if away > fleet {
		t.Fatalf("%d servers are unavailable, or may be at any time; at most %d", away, fleet)
	}
	for name, n := range racks {
		if n > rack {
			t.Fatalf("%d servers of rack %s are unavailable, or may be at any time; at most %d", n, name, rack)
		}
	}
}
