package rolloutpolicy

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/probeboot"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/rollout"
)

// probed is a policy with canaries that boot the probe.
func probed(canaries string) farrierv1.RolloutPolicySpec {
	return farrierv1.RolloutPolicySpec{ReturnTimeout: "30m", Waves: []farrierv1.Wave{{UpTo: *amount(canaries), Gates: []farrierv1.Gate{farrierv1.GateProbeBoot}}}}
}

// asked are the servers of which a boot of the probe is asked that has not begun.
func (s *fixture) asked(t *testing.T) (names []string) {
	t.Helper()
	var servers metalv1.ServerList
	if err := s.List(t.Context(), &servers); err != nil {
		t.Fatal(err)
	}
	for i := range servers.Items {
		if server := &servers.Items[i]; probeboot.Unanswered(server) && !probeboot.Of(server).Pending() {
			names = append(names, server.Name)
		}
	}
	return names
}

// bootsProbe is the controller of Servers that begins what a server is asked for.
func (s *fixture) bootsProbe(t *testing.T, name string) {
	t.Helper()
	controllertest.Change(t, s.API, name, func(server *metalv1.Server) {
		boot := &probeboot.Boot{ID: probeboot.Asked(server), Begun: s.API.Clock.Now(), Before: "first"}
		metav1.SetMetaDataAnnotation(&server.ObjectMeta, metalv1.AnnotationProbeBooted, boot.String())
	})
	s.serverIs(t, name, metalv1.ServerStateDiscovery)
}

// probeReports is the end of what bootsProbe begins.
func (s *fixture) probeReports(t *testing.T, name string) {
	t.Helper()
	controllertest.Change(t, s.API, name, func(server *metalv1.Server) {
		boot := *probeboot.Of(server)
		boot.Reported = s.API.Clock.Now()
		metav1.SetMetaDataAnnotation(&server.ObjectMeta, metalv1.AnnotationProbeBooted, boot.String())
	})
	s.serverIs(t, name, metalv1.ServerStateAvailable)
}

// changed takes the canaries to the gate of their wave.
func (s *fixture) changed(t *testing.T) (canaries []metalv1.BIOSSettings) {
	t.Helper()
	s.decides(t)
	canaries = s.open(t)
	for i := range canaries {
		s.begins(t, &canaries[i])
		s.ends(t, &canaries[i], "")
	}
	s.decides(t)
	return canaries
}

func (s *fixture) claimed(t *testing.T, name string) {
	t.Helper()
	controllertest.Change(t, s.API, name, func(server *metalv1.Server) {
		server.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "c"}
	})
	s.serverIs(t, name, metalv1.ServerStateReserved)
}

// TestCanariesBootTheProbe before the next wave begins, and who decides knows that after a restart too.
func TestCanariesBootTheProbe(t *testing.T) {
	s := newFixture(t, 6, probed("2"))
	canaries := s.changed(t)
	asked := s.asked(t)
	if r := s.says(t, "settings"); len(asked) != 2 || r.Reason != string(rollout.AtGate) || !strings.Contains(r.Message, "ProbeBoot waits for s000, s004") || r.InProgress != 2 {
		t.Fatalf("at the gate: asked %v, %+v", asked, r)
	}
	since, writes := s.says(t, "settings").Since, len(s.Writes(""))
	if s.decides(t); len(s.Writes("")) != writes {
		t.Errorf("who waits writes %v", s.Writes("")[writes:])
	}
	s.bootsProbe(t, asked[0])
	s.restart()
	s.decides(t)
	s.probeReports(t, asked[0])
	s.API.Clock.Step(time.Minute)
	s.decides(t)
	if r := s.says(t, "settings"); len(s.open(t)) != 1 || r.Completed != 1 || r.Reason != string(rollout.AtGate) || !r.Since.Equal(since) || !strings.Contains(r.Message, "waits for "+asked[1]) {
		t.Errorf("after one probe: %+v", r)
	}
	s.bootsProbe(t, asked[1])
	s.decides(t)
	s.probeReports(t, asked[1])
	if s.decides(t); len(s.open(t)) != 4 || s.says(t, "settings").Wave != 2 {
		t.Errorf("after all probes %d begin: %+v", len(s.open(t)), s.says(t, "settings"))
	}
	for _, c := range canaries {
		permit := rolloutpermit.Of(controllertest.Read[metalv1.BIOSSettings](t, s.API, c.Name))
		if permit.Wave != 1 || permit.Failure != "" || permit.Ended.IsZero() || permit.Returned.IsZero() {
			t.Errorf("permit %+v", permit)
		}
	}
	if s.goes(t, ""); len(s.asked(t)) != 0 || s.says(t, "settings").Reason != farrierv1.ReasonCompleted {
		t.Errorf("the rest has no gates: %v, %+v", s.asked(t), s.says(t, "settings"))
	}
}

// TestAProbeThatDoesNotReport stops the rollout after the canaries, whatever the limit of failures is, until it reports after all, or a person accepts it.
func TestAProbeThatDoesNotReport(t *testing.T) {
	for name, goesOn := range map[string]func(*testing.T, *fixture, string){
		"it reports late": func(t *testing.T, s *fixture, server string) { s.probeReports(t, server) },
		"a person accepts it": func(t *testing.T, s *fixture, _ string) {
			controllertest.Change(t, s.API, "settings", func(set *metalv1.BIOSSettingsSet) {
				metav1.SetMetaDataAnnotation(&set.ObjectMeta, metalv1.AnnotationFailuresAccepted, rolloutpermit.Accept(set, 1))
			})
		},
		"the gate is taken away, and the server is back": func(t *testing.T, s *fixture, server string) {
			controllertest.Change(t, s.API, "careful", func(p *farrierv1.RolloutPolicy) { p.Spec.Waves[0].Gates = nil })
			s.probeReports(t, server)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t, 6, probed("1"))
			s.changed(t)
			server := s.asked(t)[0]
			s.bootsProbe(t, server)
			if after := s.decides(t); after <= 0 || after > 30*time.Minute {
				t.Errorf("looked at again after %s", after)
			}
			s.API.Clock.Step(30 * time.Minute)
			s.serverIs(t, server, metalv1.ServerStateError)
			for range 3 {
				s.decides(t)
				s.API.Clock.Step(time.Hour)
			}
			r := s.says(t, "settings")
			if len(s.open(t)) != 0 || r.Failed != 1 || r.Waiting != 5 || r.Reason != string(rollout.GateShut) || !strings.Contains(r.Message, "1 "+FailureNoReport) {
				t.Errorf("%d begin: %+v", len(s.open(t)), r)
			}
			if n := len(slices.DeleteFunc(slices.Clone(s.told), func(reason string) bool { return reason != eventHeld })); n != 1 {
				t.Errorf("told %v", s.told)
			}
			goesOn(t, s, server)
			if s.decides(t); len(s.open(t)) != 5 {
				t.Errorf("afterwards %d begin: %+v", len(s.open(t)), s.says(t, "settings"))
			}
		})
	}
}

// TestFailuresAtGatesCount: against the limit, and the limit of their reason.
func TestFailuresAtGatesCount(t *testing.T) {
	spec := probed("1")
	spec.FailureLimits = []farrierv1.FailureLimit{{Reason: FailureNoReport, Limit: 1}}
	s := newFixture(t, 6, spec)
	s.changed(t)
	s.API.Clock.Step(30 * time.Minute)
	if s.decides(t); s.says(t, "settings").Reason != string(rollout.FailureLimit) {
		t.Errorf("%+v", s.says(t, "settings"))
	}
}

// TestAServerThatIsNotBackHasNotPassed the gates of its wave.
func TestAServerThatIsNotBackHasNotPassed(t *testing.T) {
	s := newFixture(t, 6, probed("1"))
	s.decides(t)
	c := s.open(t)[0]
	s.begins(t, &c)
	s.ends(t, &c, "")
	s.serverIs(t, c.Spec.ServerRef.Name, metalv1.ServerStateError)
	s.decides(t)
	s.API.Clock.Step(30 * time.Minute)
	s.decides(t)
	if r := s.says(t, "settings"); r.Reason != string(rollout.GateShut) || !strings.Contains(r.Message, "1 "+FailureNotReturned) || len(s.open(t)) != 0 || len(s.asked(t)) != 0 {
		t.Errorf("%+v", r)
	}
	s.serverIs(t, c.Spec.ServerRef.Name, metalv1.ServerStateAvailable)
	if s.decides(t); len(s.asked(t)) != 1 || s.says(t, "settings").Reason != string(rollout.GateShut) {
		t.Errorf("back, and yet to boot the probe: %v, %+v", s.asked(t), s.says(t, "settings"))
	}
	s.bootsProbe(t, c.Spec.ServerRef.Name)
	s.probeReports(t, c.Spec.ServerRef.Name)
	if s.decides(t); len(s.open(t)) != 5 {
		t.Errorf("afterwards: %+v", s.says(t, "settings"))
	}
}

// TestAPolicyThatCannotBeRead passes nobody through a gate, and fails nobody.
func TestAPolicyThatCannotBeRead(t *testing.T) {
	s := newFixture(t, 6, probed("1"))
	s.changed(t)
	server := s.asked(t)[0]
	windows := func(windows ...farrierv1.MaintenanceWindow) {
		controllertest.Change(t, s.API, "careful", func(p *farrierv1.RolloutPolicy) { p.Spec.Windows = windows })
		s.API.Clock.Step(2 * time.Hour)
		s.decides(t)
	}
	windows(farrierv1.MaintenanceWindow{Start: "0 0 * * *", Duration: "1h", TimeZone: "Europe/Nowhere"})
	if r := s.says(t, "settings"); r.Reason != reasonInvalid || len(s.open(t)) != 1 {
		t.Fatalf("%d are open: %+v", len(s.open(t)), r)
	}
	s.bootsProbe(t, server)
	s.probeReports(t, server)
	if s.decides(t); len(s.open(t)) != 1 {
		t.Errorf("%d are open", len(s.open(t)))
	}
	if windows(); len(s.open(t)) != 5 || s.says(t, "settings").Completed != 1 {
		t.Errorf("when it can be read again: %+v", s.says(t, "settings"))
	}

	s = newFixture(t, 6, probed("1"))
	s.changed(t)
	windows()
	if r := s.says(t, "settings"); r.Reason != string(rollout.GateShut) {
		t.Fatalf("%+v", r)
	}
	windows(farrierv1.MaintenanceWindow{Start: "0 0 * * *", Duration: "1h", TimeZone: "Europe/Nowhere"})
	for _, c := range s.children(t) {
		if permit := rolloutpermit.Of(&c); permit != nil && permit.Failure != FailureNoReport {
			t.Errorf("what has failed at its gate: %+v", permit)
		}
	}
}

// TestAServerThatBootsTheProbeIsNoCanary, whoever has asked for that, and whatever status says still.
func TestAServerThatBootsTheProbeIsNoCanary(t *testing.T) {
	s := newFixture(t, 1, farrierv1.RolloutPolicySpec{})
	controllertest.Change(t, s.API, "s000", func(server *metalv1.Server) {
		metav1.SetMetaDataAnnotation(&server.ObjectMeta, metalv1.AnnotationProbeBoot, "a-person")
	})
	s.bootsProbe(t, "s000")
	s.serverIs(t, "s000", metalv1.ServerStateAvailable)
	if s.decides(t); len(s.open(t)) != 0 || s.says(t, "settings").Reason != string(rollout.Unhealthy) {
		t.Errorf("%d begin: %+v", len(s.open(t)), s.says(t, "settings"))
	}
	s.probeReports(t, "s000")
	if s.decides(t); len(s.open(t)) != 1 {
		t.Errorf("afterwards: %+v", s.says(t, "settings"))
	}
}

// TestClaimedServersAreSkipped, those too that a claim takes before their probe boots, and the rollout says how many.
func TestClaimedServersAreSkipped(t *testing.T) {
	s := newFixture(t, 12, probed("3"))
	s.claimed(t, "s000")
	s.decides(t)
	for _, c := range s.open(t) {
		s.childIs(t, c.Name, metalv1.BIOSSettingsStateApplied, "SettingsApplied")
	}
	s.decides(t)
	s.decides(t)
	asked := s.asked(t)
	if r := s.says(t, "settings"); len(asked) != 2 || slices.Contains(asked, "s000") || !strings.Contains(r.Message, "ProbeBoot skipped 1 claimed servers") {
		t.Fatalf("asked %v, %+v", asked, r)
	}
	s.claimed(t, asked[0])
	s.bootsProbe(t, asked[1])
	s.decides(t)
	s.probeReports(t, asked[1])
	if s.decides(t); s.says(t, "settings").Wave != 2 || !strings.Contains(s.says(t, "settings").Message, "skipped 2 claimed servers") {
		t.Errorf("afterwards: %+v", s.says(t, "settings"))
	}
}

// TestChangesOfOneServerTakeTurns: one boot of the probe proves one change.
func TestChangesOfOneServerTakeTurns(t *testing.T) {
	s := newFixture(t, 1, probed("1"))
	version := &metalv1.BIOSVersion{ObjectMeta: metav1.ObjectMeta{Name: "v", Annotations: map[string]string{metalv1.AnnotationRolloutPolicy: "careful"}}}
	version.Spec.ServerRef = &metalv1.LocalObjectReference{Name: "s000"}
	rolloutpermit.Set(version, &rolloutpermit.Permit{Begun: s.API.Clock.Now(), Wave: 1})
	s.Add(t, version)
	controllertest.ChangeStatus(t, s.API, "v", func(c *metalv1.BIOSVersion) {
		c.Status.State, c.Status.ObservedGeneration = metalv1.VersionStateCompleted, c.Generation
	})
	s.changed(t)
	var ids []string
	for range 2 {
		s.decides(t)
		if len(s.asked(t)) != 1 {
			t.Fatalf("after %v: %+v, %+v", ids, s.says(t, "settings"), s.says(t, "v"))
		}
		ids = append(ids, probeboot.Asked(controllertest.Read[metalv1.Server](t, s.API, "s000")))
		s.bootsProbe(t, "s000")
		s.decides(t)
		s.probeReports(t, "s000")
		// That the boot is done is noted before another one is asked for.
		s.Fail = func(verb string, obj runtime.Object) error {
			if _, server := obj.(*metalv1.Server); verb == controllertest.Patch && !server {
				return errors.New("etcd is slow")
			}
			return nil
		}
		s.API.Clock.Step(decideEvery)
		_, err := s.r.Reconcile(t.Context(), controllertestRequest())
		if s.Fail = nil; err == nil || len(s.asked(t)) != 0 {
			t.Errorf("asked %v, though nothing was noted: %v", s.asked(t), err)
		}
	}
	s.decides(t)
	if ids[0] == ids[1] || s.says(t, "settings").Completed != 1 || s.says(t, "v").Completed != 1 || len(s.asked(t)) != 0 {
		t.Errorf("after %v: %+v, %+v", ids, s.says(t, "settings"), s.says(t, "v"))
	}
}

// TestHealth: a server that is worse than before its change has not passed, then or while the wave bakes; one that was as bad before has.
func TestHealth(t *testing.T) {
	spec := farrierv1.RolloutPolicySpec{ReturnTimeout: "30m", Waves: []farrierv1.Wave{{UpTo: *amount("1"), Bake: "1h", Gates: []farrierv1.Gate{farrierv1.GateHealth}}}}
	const ok, warning, critical = metalv1.ReasonHealthOK, metalv1.ReasonHealthWarning, metalv1.ReasonHealthCritical
	for name, tt := range map[string]struct {
		before, after, late string
		wants, then         rollout.Reason
	}{
		"well":                     {ok, ok, ok, rollout.Baking, ""},
		"nothing is reported":      {"", "", "", rollout.Baking, ""},
		"as bad as before":         {warning, warning, warning, rollout.Baking, ""},
		"better than before":       {critical, warning, warning, rollout.Baking, ""},
		"worse than before":        {warning, critical, critical, rollout.AtGate, rollout.GateShut},
		"bad, and well again":      {ok, critical, ok, rollout.AtGate, rollout.Baking},
		"bad while the wave bakes": {ok, ok, warning, rollout.Baking, rollout.Unwell},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t, 3, spec)
			s.isHealth(t, "s000", tt.before)
			s.decides(t)
			c := s.open(t)[0]
			s.begins(t, &c)
			s.isHealth(t, c.Spec.ServerRef.Name, tt.after)
			s.ends(t, &c, "")
			if s.decides(t); s.says(t, "settings").Reason != string(tt.wants) {
				t.Errorf("after the change: %+v", s.says(t, "settings"))
			}
			s.isHealth(t, c.Spec.ServerRef.Name, tt.late)
			s.API.Clock.Step(time.Hour)
			r := farrierv1.Rollout{}
			if s.decides(t); tt.then != "" {
				r = s.says(t, "settings")
			}
			if begin := len(s.open(t)); r.Reason != string(tt.then) || (begin == 2) != (tt.then == "") {
				t.Errorf("an hour later %d begin: %+v", begin, s.says(t, "settings"))
			}
		})
	}
}

// isHealth has the BMC of a server report a health.
func (s *fixture) isHealth(t *testing.T, name, health string) {
	t.Helper()
	controllertest.ChangeStatus(t, s.API, name, func(server *metalv1.Server) {
		server.Status.Conditions = nil
		if health != "" {
			server.Status.Conditions = []metav1.Condition{{
				Type: metalv1.ConditionHealthy, Status: map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionFalse}[health == metalv1.ReasonHealthOK],
				Reason: health, LastTransitionTime: metav1.NewTime(s.API.Clock.Now()),
			}}
		}
	})
}
