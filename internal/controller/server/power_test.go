package server

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// A machine that does not do as it is told is said to, and how.
func TestPowerThatDoesNotFollowIsExplained(t *testing.T) {
	refused := func(kind fleet.CommandKind, id string) func(*View) {
		return func(v *View) {
			command(id, fleet.Failed, now.Add(-time.Second))(v)
			v.System.Command.Kind, v.System.Command.Err = kind, errors.New("want this, is that")
			v.System.Command.Trouble, v.System.Command.TroubleSince = v.System.Command.Err, now.Add(-time.Minute)
		}
	}
	for name, tc := range map[string]struct {
		view   *View
		decide func(*View) Plan
		kind   string
		reason string
		says   string
	}{
		"asked to shut down": {newView(power(bmc.PowerOn)), decideAvailable, metalv1.ConditionWaitingForPowerOff, "ShuttingDown", "forced off"},
		"does not go off":    {newView(power(bmc.PowerOn), refused(fleet.PowerOff, "server-uid/available-/off")), decideAvailable, metalv1.ConditionWaitingForPowerOff, "CommandFailed", "want this, is that"},
		"boot ordered":       {newView(power(bmc.PowerOff), ordered), decideDiscovery, metalv1.ConditionPoweringOn, "BootOrdered", "Boot 1 of ns/c was ordered"},
		"in self test":       {newView(power(bmc.PowerPoweringOn), ordered), decideDiscovery, metalv1.ConditionPoweringOn, "SelfTest", "power-on self test"},
		"does not go on":     {newView(power(bmc.PowerOff), ordered, refused(fleet.PowerOn, "server-uid/a/on")), decideDiscovery, metalv1.ConditionPoweringOn, "CommandFailed", "want this, is that"},
	} {
		found := false
		for _, c := range tc.decide(tc.view).Conditions {
			if c.Type == tc.kind {
				found = true
				if c.Status != metav1.ConditionTrue || c.Reason != tc.reason || !strings.Contains(c.Message, tc.says) {
					t.Errorf("%s: %+v", name, c)
				}
			}
		}
		if !found {
			t.Errorf("%s: no condition %s", name, tc.kind)
		}
	}
}

// ordered is a boot that waits for nothing but the machine.
func ordered(v *View) {
	bootWith(&bootattempt.Attempt{ID: "a", Number: 1, Ordered: ago(time.Minute), Off: ago(30 * time.Second)}, metalv1.ServerBootConfigurationStateReady)(v)
}

func TestAMachineThatHadToBeForcedOffIsSaidToHave(t *testing.T) {
	for _, forced := range []bool{true, false} {
		v := newView(power(bmc.PowerOff))
		v.System.Command = fleet.CommandStatus{ID: "c", Kind: fleet.PowerOff, State: fleet.Succeeded, Forced: forced}
		for _, c := range powerConditions(v) {
			want := "Idle"
			if forced && c.Type == metalv1.ConditionWaitingForPowerOff {
				want = "ForcedOff"
			}
			if c.Status != metav1.ConditionFalse || c.Reason != want {
				t.Errorf("forced %v: %+v", forced, c)
			}
		}
	}
}
