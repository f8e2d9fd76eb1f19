package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// sequencer is what a BMC answers whose power circuits are broken.
var sequencer = &bmc.Error{Kind: bmc.KindServer, Op: "POST " + uri + "/Actions/ComputerSystem.Reset", StatusCode: 500, MessageID: "GeneralError", Message: "the sequencer is stuck"}

// TestAPowerOrderThatFailsSaysWhy: for as long as it is tried the condition says what the BMC answers, in every state that orders
// power, without a gap; one event and one line tell of it, however often it is tried; after some minutes the server is late.
func TestAPowerOrderThatFailsSaysWhy(t *testing.T) {
	for name, tc := range map[string]struct {
		into  func(*testing.T, *stand)
		state metalv1.ServerState
		kind  string
	}{
		"a boot of the probe": {func(t *testing.T, s *stand) {
			for controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, namespace+"/"+host) {
				s.settle(t)
			}
			s.hw.Refuses(sequencer)
			s.ready(t, namespace+"/"+host)
		}, metalv1.ServerStateDiscovery, metalv1.ConditionPoweringOn},
		"a boot for a claim": {func(t *testing.T, s *stand) {
			s.available(t)
			s.hw.Refuses(sequencer)
			s.claims(t, metalv1.PowerOn)
		}, metalv1.ServerStateReserved, metalv1.ConditionPoweringOn},
		"a release": {func(t *testing.T, s *stand) {
			claim := s.reserved(t)
			s.hw.Refuses(sequencer)
			s.ends(t, claim)
		}, metalv1.ServerStateReserved, metalv1.ConditionWaitingForPowerOff},
		"a claim that wants it off": {func(t *testing.T, s *stand) {
			claim := s.reserved(t)
			s.hw.Refuses(sequencer)
			controllertest.Change(t, s.API, claim.Namespace+"/"+claim.Name, func(c *metalv1.ServerClaim) { c.Spec.Power = metalv1.PowerOff })
		}, metalv1.ServerStateReserved, metalv1.ConditionWaitingForPowerOff},
		"a maintenance that wants it on": {func(t *testing.T, s *stand) {
			s.available(t)
			s.hw.Refuses(sequencer)
			s.Add(t, maintenanceOf("ns", "m", wantsPower(metalv1.PowerOn)))
			s.maintained(t, 5*time.Second, "ns/m")
		}, metalv1.ServerStateMaintenance, metalv1.ConditionPoweringOn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				var lines []string
				s.API.Logger = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
				tc.into(t, s)
				s.pass(t, 25*time.Second)
				s.is(t, tc.state)
				s.says(t, tc.kind, metav1.ConditionTrue, reasonCommandFailed, "500", "GeneralError", "the sequencer is stuck")
				s.says(t, conditionLate, metav1.ConditionFalse, "OnTime")
				gaps := map[string]int{}
				s.watch = func(server *metalv1.Server) {
					if c := apimeta.FindStatusCondition(server.Status.Conditions, tc.kind); c.Reason != reasonCommandFailed || !strings.Contains(c.Message, "the sequencer is stuck") {
						gaps[fmt.Sprintf("%s: %s", c.Reason, c.Message)]++
					}
				}
				s.ForgetWrites()
				s.pass(t, 12*time.Minute)
				for said, n := range gaps {
					t.Errorf("%d times it said %s", n, said)
				}
				if n := len(s.Writes("Server")); n > 12 {
					t.Errorf("%d writes in 12 minutes: %v", n, s.Writes("Server"))
				}
				if n := count(s.told, reasonCommandFailed); n != 1 {
					t.Errorf("told %d times: %v", n, s.told)
				}
				if n := len(slicesContaining(lines, "the sequencer is stuck")); n != 1 {
					t.Errorf("%d lines of log: %q", n, lines)
				}
				s.says(t, conditionLate, metav1.ConditionTrue, "LateIn"+string(tc.state), "5m")
				if n := count(s.told, "LateIn"+string(tc.state)); n != 1 {
					t.Errorf("told %d times that it is late", n)
				}
				s.watch = nil
				s.hw.Refuses(nil)
				s.pass(t, 2*time.Minute)
				if c := apimeta.FindStatusCondition(s.read(t).Status.Conditions, tc.kind); c.Reason == reasonCommandFailed {
					t.Errorf("it is over, and says %s: %s", c.Reason, c.Message)
				}
				s.says(t, conditionLate, metav1.ConditionFalse, "OnTime")
			})
		})
	}
}

func slicesContaining(lines []string, what string) (found []string) {
	for _, line := range lines {
		if strings.Contains(line, what) {
			found = append(found, line)
		}
	}
	return found
}

// TestABMCThatIsBusyForAMomentIsNoNews: many are, after what they were asked before.
func TestABMCThatIsBusyForAMomentIsNoNews(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.hw.Refuses(&bmc.Error{Kind: bmc.KindServer, StatusCode: 503, Message: "busy"})
		s.claims(t, metalv1.PowerOn)
		s.watch = func(server *metalv1.Server) {
			for _, c := range server.Status.Conditions {
				if c.Reason == reasonCommandFailed {
					t.Errorf("%s: %s", c.Type, c.Message)
				}
			}
		}
		s.pass(t, 8*time.Second)
		s.hw.Refuses(nil)
		s.pass(t, 20*time.Second)
		if server := s.is(t, metalv1.ServerStateReserved); server.Status.PowerState != metalv1.PowerStateOn || count(s.told, reasonCommandFailed) != 0 {
			t.Errorf("power %s, events %v", server.Status.PowerState, s.told)
		}
	})
}

// TestALightThatTheBMCRefusesSaysWhy: likewise for what is set, while it is tried; a moment is no news.
func TestALightThatTheBMCRefusesSaysWhy(t *testing.T) {
	v := newView(power(bmc.PowerOff))
	v.Server.Spec.IndicatorLED = metalv1.IndicatorLEDLit
	says := func(reason string) metav1.Condition {
		t.Helper()
		var p Plan
		v.settings(metalv1.ServerStateAvailable, &p)
		v.System.Setting.ID = p.Settings[0].ID
		for _, c := range p.Conditions {
			if c.Type == conditionIndicator {
				if c.Reason != reason || c.Status != metav1.ConditionFalse {
					t.Errorf("%s because %s: %s", c.Status, c.Reason, c.Message)
				}
				return c
			}
		}
		t.Fatal("nothing is said of it")
		return metav1.Condition{}
	}
	says("Ordered")
	v.System.Setting.State, v.System.Setting.Start, v.System.Setting.Err = fleet.Running, v.Now, sequencer
	says("Ordered")
	v.Now = v.Now.Add(while)
	if c := says("CommandFailed"); !strings.Contains(c.Message, "the sequencer is stuck") {
		t.Error(c.Message)
	}
}
